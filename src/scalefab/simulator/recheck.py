"""The second look at a path in error: what is asked of its spaces goes over the path itself; an answer ends the error.

=================== ===========================================================================================================
space of the path   every 1203.2 us, as long as the path is in error
=================== ===========================================================================================================
CLOSING             CLOSE again, over the path itself beside the live ones that it is asked over anyway
CLOSED, OPENING     OPEN over the path itself; OPENED comes back over the path itself too, so it shows that both ways work
OPEN                VC 0's is closed: there would else be nothing to ask (`own`: the profile says "what is asked of its space")
=================== ===========================================================================================================

One event a path in error, background: it is no progress. Nobody has told this endpoint why the path fails, else SEN or the own
port would bring it back (`path_change`).
"""

from __future__ import annotations

from ..compiled import compiled
from ..protocol import path_change, paths
from ..protocol import reliability as rh
from ..protocol.path_change import RECHECK_PS
from .calendar import push
from .control import CLOSE, OPEN, OWN_PATH, post
from .pathstate import WATCHED, path_live, space_of
from .records import RECHECK, State


@compiled
def watch_path(S: State, n: int, now_ps: int) -> None:
    """Look at the path with state ``n``, now in error, again after a while."""
    if S.path_state[n] & WATCHED == 0:
        S.path_state[n] |= WATCHED
        S.kernel[0].background += 1
        push(S, now_ps + RECHECK_PS, RECHECK, n, 0)


@compiled
def ask_itself(S: State, s: int, now_ps: int) -> None:
    """Ask what session ``s`` has to ask over its own path, which is in error."""
    session = S.session[s]
    if session.state == rh.SPACE_CLOSED:
        pair = session.src * S.kernel[0].endpoints + session.dst
        S.pair_nonce[pair] = path_change.next_nonce(S.pair_nonce[pair], 31)
        path_change.begin_open(session, S.ask[s], S.pair_nonce[pair])
    if session.state == rh.SPACE_OPENING:
        path_change.on_asked(S.ask[s], session.path, now_ps)
        post(S, s, OPEN, OWN_PATH, session.next_psn, S.ask[s].nonce, now_ps)
    elif session.state == rh.SPACE_CLOSING:
        post(S, s, CLOSE, OWN_PATH, 0, S.ask[s].nonce, now_ps)


@compiled
def waits_for_recheck(S: State, s: int) -> bool:
    """Return whether session ``s`` asks OPEN of a path in error: `on_recheck` asks again, no timer does."""
    session = S.session[s]
    return session.state == rh.SPACE_OPENING and not path_live(S, session.src, session.dst, session.path)


@compiled
def ask_path_again(S: State, n: int, now_ps: int) -> bool:
    """Ask over the path with state ``n``, if it is still in error; False: it has nothing to ask, so its VC 0 must be closed."""
    k = S.kernel[0]
    if S.path_state[n] & paths.ERROR == 0:
        return True
    path = n % k.path_count
    pair = n // k.path_count
    asked = False
    for vc in range(3):
        s = space_of(S, pair // k.endpoints, pair % k.endpoints, path, vc)
        if S.session[s].state != rh.SPACE_OPEN:
            ask_itself(S, s, now_ps)
            asked = True
    watch_path(S, n, now_ps)
    return asked
