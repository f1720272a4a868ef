"""`python -m tamis.cli`."""

import sys

from tamis.cli import main

sys.exit(main())
