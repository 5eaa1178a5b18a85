module Main where
import qualified Data.IORef as R
import qualified Data.Map.Strict as M
import Control.Monad
import Data.List (foldl')

-- The same server with a bounded audit table: the oldest entry goes.
-- ghc -O -prof -rtsopts; bounded +RTS -hc -i0.01 -A256k
main :: IO ()
main = do
  audit <- R.newIORef M.empty
  forM_ [1 .. 60000 :: Int] $ \n -> do
    {-# SCC "audit" #-} R.modifyIORef' audit (trim . M.insert n (n * 3))
    when (n `mod` 50 == 0) $ report n
  a <- R.readIORef audit
  print (M.size a)

trim :: M.Map Int Int -> M.Map Int Int
trim m = if M.size m > 8000 then M.deleteMin m else m

report :: Int -> IO ()
report n = {-# SCC "report" #-} do
  let m = M.fromList [(k, k * n) | k <- [1 .. 3000 :: Int]]
  when (foldl' (+) 0 m == n) $ print n
