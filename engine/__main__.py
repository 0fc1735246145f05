"""The command: ``python -m engine generate``, of which ``--help`` tells the rest."""

import sys

from engine.command import main

sys.exit(main(sys.argv[1:]))
