/** Scripts that make bash, zsh and fish complete our commands and options, made from the grammar in program.ts. */
import type { Command, Option } from 'commander';

export type ShellName = 'bash' | 'zsh' | 'fish';

interface Flag {
  readonly flag: string;
  readonly short: string | null;
  readonly description: string;
  readonly takesValue: boolean;
}

interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
}

export function completion(program: Command, shell: ShellName): string {
  const commands = program.commands.map(commandFrom);
  const own = flagsOfCommand(program);
  if (shell === 'bash') return forBash(commands, own);
  return shell === 'zsh' ? forZsh(commands, own) : forFish(commands, own);
}

function commandFrom(command: Command): CompletedCommand {
  return { name: command.name(), summary: command.summary(), flags: flagsOfCommand(command) };
}

function flagsOfCommand(command: Command): Flag[] {
  const help: Flag = { flag: '--help', short: '-h', description: 'print this', takesValue: false };
  return [...command.options.filter(({ hidden }) => !hidden).map(flagFrom), help];
}

function flagFrom({ long, short, description, required, optional }: Option): Flag {
  return { flag: long ?? '', short: short ?? null, description, takesValue: required || optional };
}

const longNames = (flags: readonly Flag[]): string => flags.map(({ flag }) => flag).join(' ');

function forBash(commands: readonly CompletedCommand[], own: readonly Flag[]): string {
  const names = commands.map(({ name }) => name);
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
    '') words='${[...names, longNames(own)].join(' ')}' ;;
${commands.map(({ name, flags }) => `    ${name}) words='${longNames(flags)}' ;;`).join('\n')}
  esac
  if [[ $verb == completion && $current != -* ]]; then words='bash zsh fish'
  elif [[ -n $verb && $current != -* ]]; then return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdfast holdfast
`;
}

function forZsh(commands: readonly CompletedCommand[], own: readonly Flag[]): string {
  const quote = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(/[[\]:]/g, '\\$&');
  const argument = ({ flag, description, takesValue }: Flag): string =>
    `'*${flag}[${quote(description)}]${takesValue ? ':value:' : ''}'`;
  const lines = commands.map(({ name, flags }) => {
    const rest =
      name === 'run'
        ? "'1:name:' '*::command:_normal'"
        : name === 'completion'
          ? "'1:shell:(bash zsh fish)'"
          : "'*:name:'";
    return `    ${name}) _arguments -S ${flags.map(argument).join(' ')} ${rest} ;;`;
  });
  return `#compdef holdfast
# Completion of holdfast for zsh.
_holdfast() {
  local -a verbs
  verbs=(
${commands.map(({ name, summary }) => `    '${name}:${quote(summary)}'`).join('\n')}
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

function forFish(commands: readonly CompletedCommand[], own: readonly Flag[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const option = (condition: string, { flag, short, description, takesValue }: Flag): string =>
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
    ...commands.map(
      ({ name, summary }) => `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${quote(summary)}`,
    ),
    ...own.map((flag) => option('__fish_use_subcommand', flag)),
    ...commands.flatMap(({ name, flags }) =>
      flags.map((flag) => option(`__fish_seen_subcommand_from ${name}`, flag)),
    ),
    shells,
  ].join('\n')}\n`;
}
