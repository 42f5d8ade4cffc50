/** The command line: words → help, one of the extra commands, or an operation of the contract. */
import cli from "../package.json" with { type: "json" }
import { type Globals, type OwnFlags, takeGlobals, takeWords } from "./arguments.ts"
import { areaWord, findArea, findOperation, nearest, secondWords } from "./commands.ts"
import { createCompletion } from "./extras/completion.ts"
import {
  shell as computerShell,
  shellUsage as computerShellUsage,
  ssh,
  sshFlags,
  sshUsage,
} from "./extras/computers.ts"
import { db, dbActions, dbFlags, dbUsage } from "./extras/db.ts"
import { doctor, doctorFlags, doctorUsage } from "./extras/doctor.ts"
import { publish, publishFlags, publishUsage, tail, tailFlags, tailUsage } from "./extras/events.ts"
import type { Extra } from "./extras/extra.ts"
import { deploy, deployFlags, deployUsage, logs, logsFlags, logsUsage } from "./extras/functions.ts"
import { login, loginFlags, loginUsage, logout, whoami } from "./extras/login.ts"
import { mail, mailFlags, mailUsage } from "./extras/mail.ts"
import { mcp, mcpFlags, mcpInstall, mcpInstallUsage, mcpUsage } from "./extras/mcp.ts"
import { selftest } from "./extras/selftest.ts"
import { sandboxShell, sandboxShellUsage, shellFlags } from "./extras/shell.ts"
import { copy, copyFlags, copyUsage } from "./extras/storage/copy.ts"
import { list, listFlags, listUsage } from "./extras/storage/list.ts"
import { remove, removeFlags, removeUsage } from "./extras/storage/remove.ts"
import { reportFailure } from "./failure.ts"
import { areaHelp, generalHelp, groupHelp, operationHelp } from "./help.ts"
import { invoke } from "./invoke.ts"
import { createWriter, exitCodes, type Terminal, UsageError } from "./terminal.ts"

interface ExtraCommand {
  readonly about: string
  readonly run: Extra
  readonly flags?: OwnFlags
  /** More than a line of help. */
  readonly usage?: string
  /** What may follow its words. */
  readonly actions?: readonly string[]
}

/** By their words: one, or two. Where an operation has the same words, the extra takes its place. */
const extras: Readonly<Record<string, ExtraCommand>> = {
  db: {
    about: `Databases by name: ${dbActions.join(", ")}`,
    run: db,
    flags: dbFlags,
    usage: dbUsage,
    actions: dbActions,
  },
  "storage cp": {
    about: "Copy files and folders into buckets, out of them and between them",
    run: copy,
    flags: copyFlags,
    usage: copyUsage,
  },
  "storage ls": { about: "List buckets, or what is in one", run: list, flags: listFlags, usage: listUsage },
  "storage rm": {
    about: "Delete an object, or all under a prefix",
    run: remove,
    flags: removeFlags,
    usage: removeUsage,
  },
  "events publish": {
    about: "Publish an event to a topic",
    run: publish,
    flags: publishFlags,
    usage: publishUsage,
  },
  "events tail": {
    about: "Watch a topic's events as they are published",
    run: tail,
    flags: tailFlags,
    usage: tailUsage,
  },
  "functions deploy": {
    about: "Deploy a function from a file, a folder or a zip",
    run: deploy,
    flags: deployFlags,
    usage: deployUsage,
  },
  "functions logs": {
    about: "Show the log lines of a function, and follow them",
    run: logs,
    flags: logsFlags,
    usage: logsUsage,
  },
  "computers ssh": {
    about: "Log in to a computer, or run a command there, with this machine's ssh",
    run: ssh,
    flags: sshFlags,
    usage: sshUsage,
  },
  "computers shell": {
    about: "Open a shell on a computer, or run a command there",
    run: computerShell,
    flags: shellFlags,
    usage: computerShellUsage,
  },
  "sandboxes shell": {
    about: "Open a shell in a sandbox, or run a command there",
    run: sandboxShell,
    flags: shellFlags,
    usage: sandboxShellUsage,
  },
  "mail inbox": {
    about: "Show the mails in the dev inbox",
    run: mail,
    flags: mailFlags,
    usage: mailUsage,
  },
  mcp: {
    about: "Serve the tools to an editor over standard input and output (MCP)",
    run: mcp,
    flags: mcpFlags,
    usage: mcpUsage,
  },
  "mcp install": {
    about: "Print the configuration that a client of MCP needs",
    run: mcpInstall,
    flags: mcpFlags,
    usage: mcpInstallUsage,
  },
  login: {
    about: "Sign in, and store what later commands need",
    run: login,
    flags: loginFlags,
    usage: loginUsage,
  },
  logout: { about: "Delete the stored key of a server", run: logout },
  whoami: { about: "Show the calling key, its scopes and limits", run: whoami },
  doctor: {
    about: "Show what this machine and the server support, and what is missing",
    run: doctor,
    flags: doctorFlags,
    usage: doctorUsage,
  },
  selftest: { about: "Call the safe operations of a running server and show the results", run: selftest },
  completion: {
    about: "Print the completion script for bash or zsh",
    run: createCompletion(() => extras),
    actions: ["bash", "zsh"],
  },
}

/** Runs the command of this process and sets its exit code. */
export const main = async (): Promise<void> => {
  const { env, argv, stdin, stdout, stderr } = process
  const terminal: Terminal = { env, stdin, out: createWriter(stdout), err: createWriter(stderr) }
  const line = argv.slice(2)
  try {
    process.exitCode = (await run(line, terminal)) ?? exitCodes.ok
  } catch (error) {
    process.exitCode = reportFailure(error, line.includes("--json"), terminal)
  }
}

const run = async (line: readonly string[], terminal: Terminal): Promise<number | undefined> => {
  // `svc mcp` is a command, and `mcp` an area with operations.
  const isWhole = (word: string) => word === "help" || (Object.hasOwn(extras, word) && !findArea(word))
  const { words, globals, rest } = takeWords(line, isWhole)
  const [first, second] = words
  if (globals.version) return void terminal.out.line(cli.version)
  if (first === undefined) return void terminal.out.line(generalHelp(extraRows()))
  if (first === "help") return void terminal.out.line(helpOn(takeGlobals(rest).words))
  const extra = findExtra(words)
  if (extra) return runExtra(extra.name, extra.command, globals, rest, terminal)
  const operation = second === undefined ? undefined : operationOf(first, second)
  if (!operation || globals.help || asksHelp(rest)) return void terminal.out.line(helpOn(words))
  return invoke(operation, globals, rest, terminal)
}

const findExtra = ([first = "", second]: readonly string[]) => {
  const whole = second !== undefined && findArea(first) ? [] : [first]
  for (const name of [...whole, `${first} ${second}`]) {
    const command = Object.hasOwn(extras, name) ? extras[name] : undefined
    if (command) return { name, command }
  }
  return undefined
}

const runExtra = async (
  name: string,
  { about, run, flags: own, usage = "" }: ExtraCommand,
  before: Globals,
  rest: readonly string[],
  terminal: Terminal,
): Promise<number | undefined> => {
  const { globals, words, flags } = takeGlobals(rest, name, own)
  if (before.help || globals.help) return void terminal.out.line(extraHelp(name, about, usage))
  return run({ ...before, ...globals }, words, terminal, flags)
}

const asksHelp = (rest: readonly string[]): boolean => {
  const end = rest.indexOf("--")
  return rest.slice(0, end < 0 ? rest.length : end).some(word => word === "--help" || word === "-h")
}

const extraHelp = (name: string, about: string, usage = ""): string =>
  `usage: svc ${name}\n\n${about}${usage && `\n\n${usage}`}`

const extraRows = (area = "") =>
  Object.entries(extras)
    .filter(([name]) => `${name} `.startsWith(area))
    .map(([name, { about }]) => [name, about] as const)

const helpOn = (words: readonly string[]): string => {
  const [first, second] = words
  if (first === undefined) return generalHelp(extraRows())
  const extra = findExtra(words)
  const isArea = second === undefined && findArea(first) !== undefined
  if (extra && !isArea) return extraHelp(extra.name, extra.command.about, extra.command.usage)
  if (second !== undefined) return operationHelp(operationOf(first, second))
  const area = findArea(first)
  const rows = extraRows(`${area ? areaWord(area) : first} `)
  if (area) return areaHelp(area, rows)
  if (rows.length > 0) return groupHelp(first, rows)
  throw unknown("command", first, secondWords(extras).keys(), "")
}

const operationOf = (first: string, second: string) => {
  const area = findArea(first)
  const operation = area && findOperation(area, second)
  if (operation) return operation
  const group = area ? areaWord(area) : first
  const known = secondWords(extras)
  const words = known.get(group)
  if (!words) throw unknown("command", first, known.keys(), "")
  throw unknown("operation", second, words, group)
}

const unknown = (what: string, word: string, known: Iterable<string>, group: string): UsageError => {
  const meant = nearest(word, [...known])
  const name = `${group} ${word}`.trim()
  return new UsageError(`unknown ${what}: ${name}${meant ? `; did you mean ${meant}?` : ""}`, group)
}
