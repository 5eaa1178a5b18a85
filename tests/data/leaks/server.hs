module Main where
import qualified Data.Map.Strict as M
import qualified Data.IORef as R
import Control.Monad
import Data.List (foldl')

-- Requests with a session table that is bounded, and an audit table that is not.
-- ghc -O -prof -rtsopts; server +RTS -hc -i0.01 -A256k, whole and killed
main :: IO ()
main = do
  sessions <- R.newIORef M.empty
  audit <- R.newIORef M.empty
  forM_ [1 .. 60000 :: Int] $ \n -> do
    touch sessions n
    record audit n
    when (n `mod` 50 == 0) $ report n
  s <- R.readIORef sessions
  a <- R.readIORef audit
  print (M.size s, M.size a)

touch :: R.IORef (M.Map Int [Int]) -> Int -> IO ()
touch ref n = {-# SCC "sessions" #-} R.modifyIORef' ref (M.insert (n * 7919 `mod` 900) (forced [n .. n + n `mod` 30]))

record :: R.IORef (M.Map Int [Int]) -> Int -> IO ()
record ref n = {-# SCC "audit" #-} R.modifyIORef' ref (M.insert n (forced [n, n + 1]))

report :: Int -> IO ()
report n = {-# SCC "report" #-} do
  let m = M.fromList [(k, k * n) | k <- [1 .. 3000 :: Int]]
  when (foldl' (+) 0 m == n) $ print n

forced :: [Int] -> [Int]
forced xs = foldr (\x r -> x `seq` r) xs xs
