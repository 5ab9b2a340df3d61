/** `holdfast doctor`: connects to what you run, and looks for what can break locks there. */
import { type Finding, type Level, type Verdict, worstOf } from '../doctor/finding.ts';
import { checkCluster, checkFleet } from '../doctor/fleet-checks.ts';
import { checkServer, type Plan } from '../doctor/server-checks.ts';
import { collectFacts, readServedSlots } from '../doctor/server-facts.ts';
import { tryCluster, tryLocking } from '../doctor/trial.ts';
import { EXIT } from '../exit-codes.ts';
import { type Line, printJson, printLines, styled } from '../output.ts';
import type { ServerFlags } from '../servers/address.ts';
import { type Refusal, tooFewServers, tryServers } from '../servers/connection.ts';

export interface DoctorFlags extends ServerFlags {
  readonly lease: number;
  readonly failOn: 'warning' | 'problem';
  readonly prefix?: string;
  readonly json?: boolean;
}

const EXITS: Readonly<Record<Level, number>> = { ok: EXIT.ok, warning: EXIT.nothing, problem: EXIT.problem };

export async function doctor(flags: DoctorFlags): Promise<number> {
  const servers = await tryServers(flags);
  if (servers.up.length === 0) throw tooFewServers(servers);
  const asked = servers.clients.length;
  const { cluster } = servers;
  const plan: Plan = {
    isQuorum: cluster === null && asked > 1,
    isCluster: cluster !== null,
    leaseMs: flags.lease,
  };
  try {
    const facts = await Promise.all(servers.up.map(collectFacts));
    const prefix = flags.prefix ?? '';
    const trials =
      cluster === null
        ? await Promise.all(servers.up.map((server) => tryLocking(server, prefix, !plan.isQuorum)))
        : [];
    const whole =
      cluster === null
        ? checkFleet(facts, asked)
        : [
            ...checkCluster(facts, await readServedSlots(servers.up)),
            ...(await tryCluster(cluster.client, prefix)),
          ];
    const perServer = facts.flatMap((one, at) =>
      assign(one.label, [...checkServer(one, plan), ...(trials[at] ?? [])]),
    );
    const findings = [...perServer, ...servers.down.map(unreached), ...assign(null, whole)];
    const worst = worstOf(findings);
    if (flags.json) printJson({ worst, findings });
    else printLines(describe(findings));
    return worst === 'warning' && flags.failOn === 'problem' ? EXIT.ok : EXITS[worst];
  } finally {
    servers.close();
  }
}

function assign(server: string | null, verdicts: readonly Verdict[]): Finding[] {
  return verdicts.map((verdict) => ({ ...verdict, server }));
}

function unreached({ label, reason }: Refusal): Finding {
  const advice = 'start it, or correct its address: until then it cannot vote';
  return { check: 'reach', level: 'problem', server: label, message: reason, advice };
}

const STYLES = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
const CHECK_WIDTH = 'persistence'.length + 2;
const LEVEL_WIDTH = 'warning'.length + 2;

function describe(findings: readonly Finding[]): Line[] {
  const owners = [...new Set(findings.map(({ server }) => server))];
  const indent = ' '.repeat(2 + LEVEL_WIDTH + CHECK_WIDTH);
  const sections = owners.flatMap((owner): Line[] => [
    [styled('bold', owner ?? 'all of them')],
    ...findings
      .filter(({ server }) => server === owner)
      .flatMap(({ check, level, message, advice }): Line[] => [
        ['  ', styled(STYLES[level], level.padEnd(LEVEL_WIDTH)), check.padEnd(CHECK_WIDTH), message],
        ...(advice === null ? [] : [[indent, styled('cyan', `→ ${advice}`)]]),
      ]),
    '',
  ]);
  const count = (level: Level, noun: string): string => {
    const times = findings.filter((finding) => finding.level === level).length;
    return `${times === 0 ? 'no' : times} ${noun}${times === 1 ? '' : 's'}`;
  };
  return [...sections, `${count('problem', 'problem')}, ${count('warning', 'warning')}`];
}
