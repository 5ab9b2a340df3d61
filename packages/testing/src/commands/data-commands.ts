/** The commands in data/: on keys, on their expiry, and on each type of value. */
import type { Command } from './command.ts';
import { EXPIRY_COMMANDS } from './data/expiry.ts';
import { HASH_COMMANDS } from './data/hashes.ts';
import { KEY_COMMANDS } from './data/keys.ts';
import { LIST_COMMANDS } from './data/lists.ts';
import { SET_COMMANDS } from './data/sets.ts';
import { SORTED_SET_COMMANDS } from './data/sorted-sets.ts';
import { STRING_COMMANDS } from './data/strings.ts';

export const DATA_COMMANDS: readonly Command[] = [
  ...STRING_COMMANDS,
  ...HASH_COMMANDS,
  ...LIST_COMMANDS,
  ...SET_COMMANDS,
  ...SORTED_SET_COMMANDS,
  ...KEY_COMMANDS,
  ...EXPIRY_COMMANDS,
];
