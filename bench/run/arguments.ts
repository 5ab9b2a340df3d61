/** The command line of the benchmark. */
import { parseArgs } from 'node:util';
import type { Published } from '../output/report.ts';
import type { Participant } from '../participants/participant.ts';
import { PARTICIPANTS } from '../participants/participant-list.ts';
import type { Selection } from '../participants/selection.ts';
import type { Scenario } from '../scenarios/scenario.ts';

const OPTIONS = `Measures holdfast beside the raw clients and other libraries, in one run, as ratios.

  npm run bench -- [options] [scenario…]

  --quick             a short run of everything
  --scenario <name>   only this scenario; may be repeated, or be a list with commas; a name alone does the same
  --participant <id>  only participants whose id begins so, beside the yardsticks; may be repeated
  --rounds <n>        rounds of each scenario
  --pinned            pins the servers and every process to one core, so that only processor time counts
  --before <commit>   compares with holdfast of that commit (or of a packed .tgz), built and measured in the same
                      run, round by round, and with nothing else; 10 rounds unless --rounds says otherwise
  --publish           a run of some scenarios, in full, replaces their part of the committed results and of the README
  --json              prints every figure as JSON
`;

export function helpText(scenarios: readonly Scenario[]): string {
  return `${OPTIONS}\nScenarios: ${scenarios.map(({ name }) => name).join(', ')}\n`;
}

const BEFORE_ROUNDS = 10;

export interface Arguments {
  readonly isHelp: boolean;
  readonly isJson: boolean;
  readonly isPinned: boolean;
  /** Null: every scenario has its own number of rounds. */
  readonly rounds: number | null;
  readonly scenarios: readonly Scenario[];
  readonly selection: Selection;
  /** Which of the committed results are replaced: all by a full run of everything, with nothing set otherwise. */
  readonly published: Published;
}

function readRounds(text: string | undefined): number | null {
  if (text === undefined) return null;
  const rounds = Number(text);
  if (Number.isInteger(rounds) && rounds > 0) return rounds;
  throw new Error(`expected --rounds to be a whole number of at least 1, got ${text}`);
}

function checkParticipants(names: readonly string[]): void {
  for (const name of names) {
    if (PARTICIPANTS.some(({ id }) => id.startsWith(name))) continue;
    const known = PARTICIPANTS.map(({ id }) => id).join(', ');
    throw new Error(`expected --participant to be, or to begin, one of ${known}; got ${name}`);
  }
}

function chooseScenarios(all: readonly Scenario[], asked: readonly string[]): readonly Scenario[] {
  const names = all.map(({ name }) => name);
  const unknown = asked.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new Error(`expected --scenario to be one of ${names.join(', ')}; got ${unknown}`);
  }
  return asked.length === 0 ? all : all.filter(({ name }) => asked.includes(name));
}

/** With `--before`, the participants of an earlier commit and their present counterparts. */
function isAskedBy(names: readonly string[], isBeforeRun: boolean): Selection['isAsked'] {
  return ({ id, role, beforeOf }: Participant) => {
    if (isBeforeRun && role !== 'holdfast') return false;
    return names.length === 0 || names.some((name) => (beforeOf ?? id).startsWith(name));
  };
}

function publishedBy(isFull: boolean, isWhole: boolean, isAsked: boolean): Published {
  if (isFull && isWhole) return 'all';
  return isAsked ? 'its own' : 'none';
}

export function readArguments(all: readonly Scenario[]): Arguments {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      pinned: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      before: { type: 'string' },
      scenario: { type: 'string', multiple: true, default: [] },
      participant: { type: 'string', multiple: true, default: [] },
    },
  });
  checkParticipants(values.participant);
  const scenarios = chooseScenarios(
    all,
    [...positionals, ...values.scenario].flatMap((names) => names.split(',')),
  );
  const isBeforeRun = values.before !== undefined;
  if (isBeforeRun && !PARTICIPANTS.some(({ beforeOf }) => beforeOf !== undefined)) {
    throw new Error('expected a build of the commit before: use `npm run bench`, which makes it');
  }
  const rounds = readRounds(values.rounds);
  const { quick, pinned, participant, publish } = values;
  const isFull = !quick && !pinned && !isBeforeRun && participant.length === 0 && rounds === null;
  if (publish && !isFull) {
    throw new Error('expected --publish with nothing but scenarios: what is published is measured in full');
  }
  return {
    isHelp: values.help,
    isJson: values.json,
    isPinned: values.pinned,
    rounds: rounds ?? (isBeforeRun ? BEFORE_ROUNDS : null),
    scenarios,
    selection: {
      isQuick: values.quick,
      isBeforeRun,
      isAsked: isAskedBy(values.participant, isBeforeRun),
    },
    published: publishedBy(isFull, scenarios.length === all.length, publish),
  };
}
