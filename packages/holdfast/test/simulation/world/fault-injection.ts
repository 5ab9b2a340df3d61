/** Makes the faults of a seed happen, at random moments until the world calms down. */

import type { Link } from './connection.ts';
import type { Fault, Swarm } from './fault-selection.ts';
import type { Prng } from './prng.ts';
import type { SimulatedProcess } from './process.ts';
import type { SimulatedNode } from './simulated-node.ts';
import type { Timeline } from './timeline.ts';

const EVERY_MS: readonly number[] = [20, 80, 200, 500, 1_000, 2_000];
const SHORT_MS: readonly number[] = [1, 10, 50, 200, 600, 1_500, 4_000];
const CRASHES_MAX = 2;

export interface Stage {
  readonly timeline: Timeline;
  readonly prng: Prng;
  readonly nodes: readonly SimulatedNode[];
  readonly processes: readonly SimulatedProcess[];
  readonly names: readonly string[];
  note(who: string, what: string): void;
  /** Counts a fault. */
  struck(): void;
  /** Tells the judge that something was done which no lock survives. */
  disturbed(): void;
  /** The clock of a node goes back by so much. */
  setBack(node: SimulatedNode, ms: number): void;
}

type Doing = (stage: Stage, random: Prng) => void;

function node({ nodes }: Stage, random: Prng): SimulatedNode {
  return random.pick(nodes);
}

function process({ processes }: Stage, random: Prng): SimulatedProcess {
  return random.pick(processes);
}

function anyLink({ clients }: SimulatedProcess, random: Prng): Link {
  return random.pick(random.pick(clients).links);
}

function hold(stage: Stage, random: Prng, begin: () => void, end: () => void): void {
  begin();
  stage.timeline.after(random.pick(SHORT_MS), end);
}

function restart(
  stage: Stage,
  random: Prng,
  survivor: 'nothing' | 'everything' | 'all but the last second',
): void {
  const target = node(stage, random);
  stage.note(target.name, `restarts with ${survivor}`);
  const downMs = random.pick(SHORT_MS);
  target.restart(survivor, downMs);
  if (survivor === 'everything') return;
  stage.disturbed();
  stage.timeline.after(downMs, () => stage.disturbed());
}

const DOINGS: Partial<Record<Fault, Doing>> = {
  stall: (stage, random) => {
    const target = process(stage, random);
    stage.note(target.name, 'network stalls');
    anyLink(target, random).stall(random.pick(SHORT_MS));
  },
  cut: (stage, random) => {
    const target = process(stage, random);
    stage.note(target.name, 'connection is cut');
    anyLink(target, random).cut();
  },
  'half-open': (stage, random) => {
    const target = process(stage, random);
    stage.note(target.name, 'connection hangs');
    anyLink(target, random).hang(random.pick(SHORT_MS));
  },
  pause: (stage, random) => {
    const { name, machine } = process(stage, random);
    stage.note(name, 'pauses');
    hold(
      stage,
      random,
      () => machine.pause(),
      () => machine.resume(),
    );
  },
  suspend: (stage, random) => {
    const { name, machine } = process(stage, random);
    stage.note(name, 'is suspended');
    hold(
      stage,
      random,
      () => machine.suspend(),
      () => machine.resume(),
    );
  },
  crash: (stage, random) => {
    const dead = stage.processes.filter(({ isAlive }) => !isAlive).length;
    const target = process(stage, random);
    if (dead >= CRASHES_MAX || dead >= stage.processes.length - 1 || !random.chance(0.3)) return;
    stage.note(target.name, 'crashes');
    target.crash();
  },
  close: (stage, random) => {
    const target = process(stage, random);
    if (!random.chance(0.2) || target.machine.state !== 'running') return;
    stage.note(target.name, 'closes');
    target.close(random.pick(SHORT_MS));
  },
  'evict counter': (stage, random) => {
    const target = node(stage, random);
    target.operate('DEL', `redisson_lock_token:{${random.pick(stage.names)}}`);
  },
  'client wall jump': (stage, random) => {
    const { name, machine } = process(stage, random);
    const ms = random.between(-5_000, 5_000);
    stage.note(name, `wall clock jumps by ${ms} ms`);
    machine.jumpWall(ms);
  },
  freeze: (stage, random) => {
    const target = node(stage, random);
    stage.note(target.name, 'freezes');
    hold(
      stage,
      random,
      () => target.freeze(),
      () => target.thaw(),
    );
  },
  'restart with everything': (stage, random) => restart(stage, random, 'everything'),
  'restart with nothing': (stage, random) => restart(stage, random, 'nothing'),
  'restart without the last second': (stage, random) => restart(stage, random, 'all but the last second'),
  'script flush': (stage, random) => void node(stage, random).operate('SCRIPT', 'FLUSH'),
  flush: (stage, random) => {
    const target = node(stage, random);
    stage.note(target.name, 'FLUSHALL');
    target.operate('FLUSHALL');
    stage.disturbed();
  },
  delete: (stage, random) => {
    const target = node(stage, random);
    const name = random.pick(stage.names);
    stage.note(target.name, `DEL ${name}`);
    target.operate('DEL', name);
    stage.disturbed();
  },
  'node jump forward': (stage, random) => {
    const target = node(stage, random);
    stage.note(target.name, 'clock jumps forward');
    target.state.jump(random.between(1, 20_000));
    stage.disturbed();
  },
  'node jump back': (stage, random) => {
    const target = node(stage, random);
    stage.note(target.name, 'clock jumps back');
    stage.setBack(target, random.between(1, 5_000));
    stage.disturbed();
  },
};

/** Lets faults happen until a time. Afterwards everything is put right that can be. */
export function brew(stage: Stage, { faults }: Swarm, untilMs: number): void {
  const random = stage.prng.fork();
  const doings = [...faults].flatMap((fault) => DOINGS[fault] ?? []);
  if (faults.has('restart without the last second')) for (const target of stage.nodes) target.keepCopies();
  if (doings.length === 0) return;
  const next = (): void => {
    const delayMs = random.pick(EVERY_MS) * (0.5 + random.fraction());
    if (stage.timeline.nowMs + delayMs >= untilMs) return;
    stage.timeline.after(delayMs, () => {
      stage.struck();
      random.pick(doings)(stage, random);
      next();
    });
  };
  next();
}

export function calm({ nodes, processes }: Stage): void {
  for (const one of nodes) one.thaw();
  for (const { machine } of processes) machine.resume();
}
