"""Machine code in a process whose memory is in pieces: the sections of one function must stay near each other."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, math, mmap
import jourdain as jd
from jourdain.native.engine import Library, compile_ir, _llvm

IR = '''
@c = internal constant [4 x double] [double 1.0, double 2.0, double 3.0, double 4.0]
declare double @jd_sin(double)
define double @f(double %x, i64 %i) {
 %p = getelementptr [4 x double], ptr @c, i64 0, i64 %i
 %v = load double, ptr %p
 %s = call double @jd_sin(double %x)
 %y = fadd double %s, %v
 ret double %y
}
'''
code = compile_ir(IR)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
RESERVED = 0x02 | 0x20 | 0x4000  # private, anonymous, without backing
GB, PAGE = 2**30, mmap.PAGESIZE
whole = libc.mmap(None, 40 * GB, 0, RESERVED, -1, 0)
while True:  # holes above are closed, so that the next pieces of memory lie in those made now
    at = libc.mmap(None, PAGE, 0, RESERVED, -1, 0)
    if at < whole:
        break
for k in range(1, 13):
    libc.munmap(whole + 3 * GB * k, PAGE)
library = Library([code])
f = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)(library.address("f"))
print(f(0.5, 2) - math.sin(0.5))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="holes in the address space are made with Linux's mmap")
def test_code_and_constants_lie_together_where_memory_is_in_pieces() -> None:
    """Constants more than 2 GB from the code that reads them are out of reach: LLVM ended the process."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == 3.0


def test_blocks_of_memory_need_no_stubs() -> None:
    """Without optimisation LLVM calls memcpy by a stub, for which code that lies side by side has no room."""
    from jourdain.native.engine import _needs_stubs, compile_ir

    text = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define void @f(ptr %a, ptr %b, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false)
  call void @llvm.memset.p0.i64(ptr %b, i8 0, i64 %n, i1 false)
  ret void
}
"""
    for quick in (True, False):
        assert not _needs_stubs(compile_ir(text, quick))
