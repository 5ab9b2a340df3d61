/** Every planted bug, by name. */
import type { PlantedBug } from './bug.ts';
import { CLIENT_BUGS } from './client-bugs.ts';
import { CODE_BUGS } from './code-bugs.ts';
import { LINE_BUGS } from './line-bugs.ts';
import { LINGER_BUGS } from './linger-bugs.ts';
import { LUA_BUGS } from './lua-bugs.ts';
import { QUORUM_BUGS } from './quorum-bugs.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  ...LUA_BUGS,
  ...CLIENT_BUGS,
  ...CODE_BUGS,
  ...LINE_BUGS,
  ...LINGER_BUGS,
  ...QUORUM_BUGS,
];
