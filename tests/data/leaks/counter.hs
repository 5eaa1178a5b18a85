module Main where
import qualified Data.IORef as R
import qualified Data.Map as M
import Control.Monad
import Data.List (foldl')

-- A lazy counter: every count is a thunk on the one before.
-- ghc -O -prof -rtsopts; counter +RTS -hy -i0.03 -A256k
main :: IO ()
main = do
  counts <- R.newIORef (M.fromList [(k, 0) | k <- [0 .. 9 :: Int]])
  forM_ [1 .. 400000 :: Int] $ \n -> do
    {-# SCC "count" #-} R.modifyIORef counts (M.adjust (+ n) (n `mod` 10))
    c <- R.readIORef counts
    when (n `mod` 100 == 0) $ (M.size c + work n) `seq` return ()
  c <- R.readIORef counts
  print (M.size c)

work :: Int -> Int
work n = {-# SCC "work" #-} foldl' (+) 0 (M.elems (M.fromList [(k * n `mod` 1009, k) | k <- [1 .. 500 :: Int]]))
