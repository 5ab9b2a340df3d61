/** docs/operate/alerts.md says what the code does: its list of rules and its examples; and docs/operate/acl.md what the state needs. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Locks } from 'holdfast';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { ALERTS, aclWords } from '../../../holdfast/test/support/servers/acl-rules.ts';
import { useRedis } from '../../../holdfast/test/support/servers/redis-server.ts';
import { waitFor } from '../../../holdfast/test/support/wait-for.ts';
import { SettingsHolder } from '../../src/alerts/config/holder.ts';
import { formatIssue } from '../../src/alerts/config/json-reader.ts';
import { FIELDS, parseConfig } from '../../src/alerts/config/parse.ts';
import { RECEIVER_FIELDS } from '../../src/alerts/config/receiver-section.ts';
import { createAlerts } from '../../src/alerts/index.ts';
import { card, FakeFigures, figures } from './support/figures.ts';
import { settingsWith } from './support/machine.ts';
import { notice, STDOUT } from './support/notices.ts';
import { ruleTable } from './support/rule-table.ts';

const server = useRedis();
const PAGE = readFileSync(resolve(import.meta.dirname, '../../../../docs/operate/alerts.md'), 'utf8');

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

test('the list of rules is that of the code', () => {
  const [, shown] = /<!-- rules -->\n([\s\S]*?)\n<!-- \/rules -->/.exec(PAGE) ?? [];
  expect(shown).toBe(ruleTable());
});

test('each configuration on the page is good, and every field and receiver is on the page', () => {
  const secrets = { env: () => 'redis://localhost', file: () => 'https://example.com/secret' };
  const web = {
    ...secrets,
    env: (name: string) => (name === 'SLACK_URL' ? 'https://example.com' : 'redis://localhost'),
  };
  for (const text of blocks('jsonc')) {
    const parsed = parseConfig(text, 'default', web);
    expect(parsed.isGood ? [] : parsed.issues.map(formatIssue)).toEqual([]);
  }
  for (const field of FIELDS)
    if (field !== '$schema')
      expect(PAGE).toContain(
        `| \`${field === 'state' ? 'state.redis' : field}`
          .replace('receivers', 'receivers.<name>')
          .replace('`rules', '`rules.<rule>'),
      );
  for (const type of Object.keys(RECEIVER_FIELDS)) expect(PAGE).toContain(`| \`${type}\` |`);
});

test('the message on the page has the fields of a message', () => {
  const [shown = '{}'] = blocks('json');
  const message = JSON.parse(shown) as { alerts: object[] };
  expect(Object.keys(message)).toEqual(Object.keys(notice()));
  expect(Object.keys(message.alerts[0] ?? {})).toEqual(Object.keys(notice().alerts[0] ?? {}));
});

test('a user with the permissions of acl.md, and no others, keeps the state and leads', async () => {
  const admin = new Redis(server.port);
  await admin.call('ACL', 'SETUSER', 'alerts', 'reset', 'on', '>pass', ...aclWords(ALERTS));
  await admin.call('ACL', 'LOG', 'RESET');
  const redis = new Redis(server.port, { username: 'alerts', password: 'pass', enableReadyCheck: false });
  redis.on('error', () => {});
  const printed: string[] = [];
  const full = (): ReturnType<typeof figures> => {
    const at = Date.now();
    return figures({ at, servers: [card({ seenAt: at, startedAt: 1, memoryUsed: 970 })] });
  };
  const source = new FakeFigures(full);
  const settings = {
    ...settingsWith({ 'memory-high': { forMs: 0, keepForMs: 0 } }),
    groupMs: 0,
    receivers: [STDOUT],
  };
  const client = new Locks(redis);
  const alerts = createAlerts({
    fleet: 'shop',
    figures: source,
    state: redis,
    locks: client,
    settings: new SettingsHolder(settings),
    log: () => {},
    print: (line) => void printed.push(line),
  });
  alerts.start();
  const ticking = setInterval(() => source.tick(), 100);
  try {
    await waitFor(() => printed.length > 0, { what: 'a message', limitMs: 60_000 });
    await alerts.silence({ match: { rule: 'evicting' }, until: Date.now() + 60_000, reason: 'x', by: 'y' });
    expect((await alerts.page(null)).active).toHaveLength(1);
    const denied = (await admin.call('ACL', 'LOG')) as unknown[][];
    // The name of a connection is nothing to do with the state; the page on permissions has it.
    const objects = denied.map((entry) => String(entry[entry.indexOf('object') + 1]));
    expect(objects.filter((object) => !/client|info|select/.test(object))).toEqual([]);
  } finally {
    clearInterval(ticking);
    await alerts.close();
    await client.close();
    redis.disconnect();
    admin.disconnect();
  }
});
