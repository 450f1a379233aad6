"""Every statement of a writers' board, on a recording connection that answers as a server would."""

from __future__ import annotations

from keybench.databases.core.coordination import Board, Standing

ANSWERS = {"SELECT MIN(CASE": [(3, 100, 2, 0)], "SELECT SUM(sent)": [(12,)], "SELECT writer": [(1,)]}


def everything(board: Board) -> None:
    board.open(7, 1)
    assert board.claim(7, 0)
    board.post(7, 0, stage=1, ahead=100, sent=12)
    assert board.read(7) == Standing(3, 100, 2, False)
    board.beat(7)
    assert board.sent(7) == 12
    assert board.working(7) == {1}
    board.leave(7, 0)
    board.stop(7)
    board.remove()
    board.close()
