/** The exit codes. Where BSD's sysexits.h has a number for the case, that number is used. */
export const EXIT = {
  ok: 0,
  nothing: 1,
  problem: 2,
  usage: 64,
  conflict: 65,
  unreachable: 69,
  internal: 70,
  busy: 75,
  protocol: 76,
  refused: 77,
  lost: 79,
  notExecutable: 126,
  notFound: 127,
  /** Plus the number of the signal, as in shells. */
  signalled: 128,
} as const;

export type ExitName = keyof typeof EXIT;

/** For the page and for `--help`: one line each, in the order of the numbers. */
export const EXIT_MEANINGS: Readonly<Record<ExitName, string>> = {
  ok: 'done; of `run`: the command ended with 0',
  nothing:
    'nobody holds it (`inspect`, `release`), the answer was no (`release`), there is a warning (`doctor`, unless `--fail-on problem`), a promise was broken (`demo`)',
  problem: 'there is a problem (`doctor`)',
  usage: 'the command line is wrong',
  conflict: 'the key holds something that is not a lock',
  unreachable: 'the servers cannot be reached, or not enough of them',
  internal: 'a bug in holdfast',
  busy: 'somebody else holds the lock (`run`; another code with `--on-busy-exit`), or somebody else than was shown (`release`)',
  protocol:
    'something answers at that address, and it is not a Redis server, or only one of both sides speaks TLS',
  refused: 'the server refuses the login, or the user lacks a right',
  lost: 'the lock was lost, and the command was stopped (`run`)',
  notExecutable: 'the command cannot be executed (`run`)',
  notFound: 'the command cannot be found (`run`)',
  signalled:
    'plus the number of the signal that ended the command or the wait for the lock (`run`), the question (`release`) or the sale (`demo`); 141: the reader of standard output has gone',
};
