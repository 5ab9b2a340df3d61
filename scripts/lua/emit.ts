import { type BundleShape, bundleSource } from '../../packages/holdfast/src/scripts/bundle-source.ts';
import { sha1 } from './assemble.ts';
import type { Argument, Header, Outcome } from './header.ts';

export interface CompiledScript {
  /** `lock.acquire` */
  readonly name: string;
  readonly header: Header;
  readonly source: string;
  /** Set for a script that can be bundled: many calls of the script in one. */
  readonly bundle: BundleShape | undefined;
}

const PREAMBLE = `// Generated from lua/ by \`npm run lua\`. Do not edit.
import { bundleSource } from './bundle-source.ts';
import { OUTCOMES } from './outcome.ts';
`;

/** The exports of script.ts that generated code may use, in the order of sorted imports. */
const OFFERED =
  'type BatchScript,bareInteger,integerAt,openBatch,openReply,refuseReply,requireItems,type Script,stringAt,stringsFrom';

/** The module that TypeScript code calls scripts through, before formatting. */
export function emitModule(scripts: readonly CompiledScript[]): string {
  const sorted = [...scripts].sort((a, b) => (a.name < b.name ? -1 : 1));
  const body = sorted.map(emitScript).join('\n');
  const used = OFFERED.split(',').filter((name) =>
    new RegExp(`\\b${name.replace('type ', '')}[<(]`).test(body),
  );
  return `${PREAMBLE}import { ${used.join(', ')} } from './script.ts';\nimport type { Reply, ScriptCall, ScriptText } from './script-call.ts';\n\n${body}`;
}

function emitScript(script: CompiledScript): string {
  const name = camelCase(script.name);
  const text = `${name}Text`;
  const body = script.header.isBatch ? emitBatch(script.header, name) : emitSingle(script.header, name);
  const lines = script.source
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.stringify(`${line}\n`));
  return `const ${name}Source =
${lines.join(' +\n')};

const ${text}: ScriptText = {
  name: '${script.name}',
  sha: '${sha1(script.source)}',
  source: ${name}Source,${emitBundle(script, name)}
};

${body}`;
}

function emitBundle({ name, source, bundle }: CompiledScript, camel: string): string {
  if (bundle === undefined) return '';
  const sha = sha1(bundleSource(source, bundle));
  const made = `bundleSource(${camel}Source, ${JSON.stringify(bundle)})`;
  return `\nbundle: { name: '${name} (bundle)', sha: '${sha}', source: ${made} },`;
}

function emitSingle(header: Header, name: string): string {
  const type = capitalise(name);
  const hasInput = header.keys.length + header.args.length > 0;
  const input = hasInput ? `${type}Input` : 'void';
  const keys = header.keys.map((key) => `input.${camelCase(key.name)}`).join(', ');
  const args = header.args.map((arg) => argument('input', arg)).join(', ');
  return `${hasInput ? emitFields(header, `${type}Input`) : ''}export type ${type}Outcome =
${header.outcomes.map((outcome) => `  | { ${outcomeFields(outcome, header).join('; ')} }`).join('\n')};

/** ${header.sentence} */
export const ${name}: Script<${input}, ${type}Outcome> = {
  text: ${name}Text,
  call(${hasInput ? `input: ${input}` : ''}): ScriptCall {
    return { script: ${name}Text, keys: [${keys}], args: [${args}] };
  },
  decode(reply: Reply): ${type}Outcome {
${emitBare(header, `${name}Text`)}    const items = openReply(${name}Text, reply);
    switch (items[0]) {
${header.outcomes.map((outcome) => emitCase(outcome, `${name}Text`)).join('\n')}
      default:
        return refuseReply(${name}Text, reply);
    }
  },
};
`;
}

function emitBatch(header: Header, name: string): string {
  const type = capitalise(name);
  const plain = header.outcomes.filter(({ payload }) => payload.length === 0);
  const bare = header.outcomes.find(({ payload }) => payload.length > 0);
  const types = [
    ...plain.map((outcome) => `'${outcome.name}'`),
    ...(bare === undefined ? [] : [`{ ${outcomeFields(bare, header).join('; ')} }`]),
  ];
  return `${emitFields(header, `${type}Item`)}export type ${type}Outcome = ${types.join(' | ')};

/** ${header.sentence} */
export const ${name}: BatchScript<${type}Item, ${type}Outcome> = {
  text: ${name}Text,
  call(batch: readonly ${type}Item[]): ScriptCall {
    const keys: string[] = [];
    const args: string[] = [];
    for (const item of batch) {
      keys.push(${header.keys.map((key) => `item.${camelCase(key.name)}`).join(', ')});
      args.push(${header.args.map((arg) => argument('item', arg)).join(', ')});
    }
    return { script: ${name}Text, keys, args };
  },
  decode(reply: Reply, count: number): ${type}Outcome[] {
    const outcomes: ${type}Outcome[] = [];
    for (const item of openBatch(${name}Text, reply, count)) {
${emitEachBare(bare)}      switch (item) {
${plain
  .map(
    (outcome) => `        case OUTCOMES.${outcome.name}:
          outcomes.push('${outcome.name}');
          break;`,
  )
  .join('\n')}
        default:
          refuseReply(${name}Text, reply);
      }
    }
    return outcomes;
  },
};
`;
}

/** The one outcome that has a payload comes as one string: its name, so that no other string is taken for it, and the payload. */
function emitEachBare(bare: Outcome | undefined): string {
  if (bare === undefined) return '';
  const [payload] = bare.payload.map(({ name }) => camelCase(name));
  return `      if (typeof item === 'string' && item.startsWith('${bare.name} ')) {
        outcomes.push({ is: '${bare.name}', ${payload}: item.slice(${bare.name.length + 1}) });
        continue;
      }
`;
}

function emitFields(header: Header, type: string): string {
  const field = (name: string, meaning: string, tsType: string): string =>
    `${meaning === '' ? '' : `  /** ${meaning} */\n`}  readonly ${camelCase(name)}: ${tsType};\n`;
  return `export interface ${type} {
${header.keys.map((key) => field(key.name, key.meaning, 'string')).join('')}${header.args
  .map((arg) => field(arg.name, arg.meaning, arg.type === 'string' ? 'string' : 'number'))
  .join('')}}

`;
}

function emitCase(outcome: Outcome, text: string): string {
  const { name, payload } = outcome;
  const hasRest = payload.at(-1)?.type === 'strings';
  const exact = hasRest ? '' : `        requireItems(${text}, items, ${payload.length + 1});\n`;
  const reader = { integer: 'integerAt', string: 'stringAt', strings: 'stringsFrom' };
  const fields = payload.map(
    (item, index) => `${camelCase(item.name)}: ${reader[item.type]}(${text}, items, ${index + 1})`,
  );
  return `      case OUTCOMES.${name}:\n${exact}        return { ${[`is: '${name}'`, ...fields].join(', ')} };`;
}

function emitBare({ bare }: Header, text: string): string {
  if (bare === undefined) return '';
  const told = `${camelCase(bare.item)}: bareInteger(${text}, reply)`;
  return `    if (typeof reply === 'number') return { is: '${bare.outcome}', ${told} };\n`;
}

function outcomeFields(outcome: Outcome, { bare }: Header): string[] {
  const types = { integer: 'number', string: 'string', strings: 'readonly string[]' };
  const fields = outcome.payload.map(({ name, type }) => {
    const isUntoldWhenBare = outcome.name === bare?.outcome && name !== bare.item;
    return `readonly ${camelCase(name)}${isUntoldWhenBare ? '?' : ''}: ${types[type]}`;
  });
  return [`readonly is: '${outcome.name}'`, ...fields];
}

function argument(from: string, arg: Argument): string {
  const value = `${from}.${camelCase(arg.name)}`;
  return arg.type === 'string' ? value : `String(${value})`;
}

function camelCase(name: string): string {
  return name.replace(/[._-]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function capitalise(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
