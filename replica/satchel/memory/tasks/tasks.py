"""Tasks: what can be done with them, each verb in the file that holds its rule."""

from __future__ import annotations

from satchel.memory.tasks.changes import assign as assign
from satchel.memory.tasks.changes import create as create
from satchel.memory.tasks.changes import delete as delete
from satchel.memory.tasks.changes import update as update
from satchel.memory.tasks.claims import claim as claim
from satchel.memory.tasks.claims import claim_next as claim_next
from satchel.memory.tasks.claims import release as release
from satchel.memory.tasks.moves import block as block
from satchel.memory.tasks.moves import cancel as cancel
from satchel.memory.tasks.moves import complete as complete
from satchel.memory.tasks.moves import fail as fail
from satchel.memory.tasks.moves import reopen as reopen
from satchel.memory.tasks.moves import start as start
from satchel.memory.tasks.reads import get as get
from satchel.memory.tasks.reads import list_tasks as list_tasks
from satchel.memory.tasks.reads import tree as tree
