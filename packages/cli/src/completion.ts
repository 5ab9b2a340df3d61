/** Completion for shells, written from the grammar. */
import type { Command, Option } from 'commander';

export type ShellName = 'bash' | 'zsh' | 'fish';

interface Word {
  readonly flag: string;
  readonly short: string | null;
  readonly description: string;
  readonly takesValue: boolean;
}

interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly words: readonly Word[];
}

export function completion(program: Command, shell: ShellName): string {
  const verbs = program.commands.map(verbOf);
  const own = wordsOf(program);
  if (shell === 'bash') return forBash(verbs, own);
  return shell === 'zsh' ? forZsh(verbs, own) : forFish(verbs, own);
}

function verbOf(command: Command): Verb {
  return { name: command.name(), summary: command.summary(), words: wordsOf(command) };
}

function wordsOf(command: Command): Word[] {
  const help: Word = { flag: '--help', short: '-h', description: 'print this', takesValue: false };
  return [...command.options.filter(({ hidden }) => !hidden).map(wordOf), help];
}

function wordOf({ long, short, description, required, optional }: Option): Word {
  return { flag: long ?? '', short: short ?? null, description, takesValue: required || optional };
}

const flagsOf = (words: readonly Word[]): string => words.map(({ flag }) => flag).join(' ');

function forBash(verbs: readonly Verb[], own: readonly Word[]): string {
  const names = verbs.map(({ name }) => name);
  return `# Completion of holdfast for bash.
_holdfast() {
  local current=\${COMP_WORDS[COMP_CWORD]} verb= words= index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case \${COMP_WORDS[index]} in
      --) return ;;
      ${names.join('|')}) verb=\${COMP_WORDS[index]}; break ;;
    esac
  done
  for ((; index < COMP_CWORD; index++)); do [[ \${COMP_WORDS[index]} == -- ]] && return; done
  case $verb in
    '') words='${[...names, flagsOf(own)].join(' ')}' ;;
${verbs.map(({ name, words }) => `    ${name}) words='${flagsOf(words)}' ;;`).join('\n')}
  esac
  if [[ $verb == completion && $current != -* ]]; then words='bash zsh fish'
  elif [[ -n $verb && $current != -* ]]; then return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdfast holdfast
`;
}

function forZsh(verbs: readonly Verb[], own: readonly Word[]): string {
  const quote = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(/[[\]:]/g, '\\$&');
  const argument = ({ flag, description, takesValue }: Word): string =>
    `'*${flag}[${quote(description)}]${takesValue ? ':value:' : ''}'`;
  const lines = verbs.map(({ name, words }) => {
    const rest =
      name === 'run'
        ? "'1:name:' '*::command:_normal'"
        : name === 'completion'
          ? "'1:shell:(bash zsh fish)'"
          : "'*:name:'";
    return `    ${name}) _arguments -S ${words.map(argument).join(' ')} ${rest} ;;`;
  });
  return `#compdef holdfast
# Completion of holdfast for zsh.
_holdfast() {
  local -a verbs
  verbs=(
${verbs.map(({ name, summary }) => `    '${name}:${quote(summary)}'`).join('\n')}
  )
  local context state line
  _arguments -C ${own.map(argument).join(' ')} '1: :->verb' '*:: :->rest'
  [[ $state == verb ]] && _describe command verbs
  [[ $state == rest ]] || return
  case $line[1] in
${lines.join('\n')}
  esac
}
compdef _holdfast holdfast
`;
}

function forFish(verbs: readonly Verb[], own: readonly Word[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const option = (condition: string, { flag, short, description, takesValue }: Word): string =>
    [
      `complete -c holdfast -n ${quote(condition)} -l ${flag.replace(/^--/, '')}`,
      ...(short === null ? [] : [`-s ${short.replace('-', '')}`]),
      ...(takesValue ? ['-r'] : []),
      `-d ${quote(description)}`,
    ].join(' ');
  const shells = "complete -c holdfast -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'";
  return `${[
    '# Completion of holdfast for fish.',
    'complete -c holdfast -f',
    ...verbs.map(
      ({ name, summary }) => `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
    ),
    ...own.map((word) => option('__fish_use_subcommand', word)),
    ...verbs.flatMap(({ name, words }) =>
      words.map((word) => option(`__fish_seen_subcommand_from ${name}`, word)),
    ),
    shells,
  ].join('\n')}\n`;
}
