
import os
import sys
import threading
import time

import numpy as np

from flambeau.utils.data import *


class DS(Dataset):
    def __len__(s): return 100000
    def __getitem__(s,i): time.sleep(.005); return np.full(30000,i,dtype=np.float32)
kind=sys.argv[1]; n=int(sys.argv[2])
print("pid",os.getpid(),flush=True)
try:
    for b in DataLoader(DS(),batch_size=4,num_workers=n,workers=kind): print("b",flush=True)
except KeyboardInterrupt:
    print("KBI",flush=True)
    time.sleep(.2)
    print("kids",open(f"/proc/self/task/{os.getpid()}/children").read().split(),"threads",len(os.listdir("/proc/self/task")),"active",threading.active_count(),flush=True)
