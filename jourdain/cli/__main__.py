"""``python -m jourdain.cli`` is the command ``jourdain``."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
