/**
 * The guest agent with all that it runs on: this machine's Perl, its libraries and their loader, copied into one
 * directory. A root that has no Perl, or another C library, runs it from a read-only mount.
 */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chmod, copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { PortError } from "../../port-error.ts"

const run = promisify(execFile)
const agentDir = fileURLToPath(new URL(".", import.meta.url))

/** Where workloads see it. */
export const KIT_AT = "/.svc/agent"
/** In the order in which they load each other. */
const scripts = ["kernel.pl", "loop.pl", "commands.pl", "files.pl", "agent.pl"]
const STARTER = "init.pl"

export interface AgentKit {
  /** To be mounted at KIT_AT. */
  readonly directory: string
  /** What starts the agent there. */
  readonly argv: readonly [string, ...string[]]
  /** What runs Perl there. */
  readonly perl: readonly [string, ...string[]]
}

/** All scripts as one: where another process serves the files, each that is opened is asked of it. */
const wholeAgent = async (): Promise<string> => {
  const texts = await Promise.all([...scripts, STARTER].map(name => readFile(join(agentDir, name), "utf8")))
  const parts = scripts.map((name, index) => {
    const path = `${KIT_AT}/${name}`
    // Whoever requires it has it. Within BEGIN it is not the program that was started.
    return `BEGIN { $INC{'${path}'} = 1;\n# line 1 "${path}"\n${texts[index]}\n}\n`
  })
  return `${parts.join("")}# line 1 "${KIT_AT}/${STARTER}"\n${texts.at(-1)}`
}

/** Modules that the agent has loaded, as [name, file], in any order. */
export const modulesOf = async (perl: string): Promise<readonly (readonly [string, string])[]> => {
  const program = 'require shift; print map { "$_\\t$INC{$_}\\n" } grep { /\\.pm$/ } keys %INC'
  const { stdout } = await run(perl, ["-e", program, join(agentDir, "agent.pl")], { env: {} })
  return stdout
    .split("\n")
    .filter(Boolean)
    .map(line => line.split("\t") as [string, string])
}

/** The loader and the libraries, as ldd(1) tells them: `name => path (address)`, the loader without an arrow. */
export const librariesOf = async (perl: string) => {
  const { stdout } = await run("ldd", [perl], { env: { PATH: "/usr/bin:/bin", LC_ALL: "C" } })
  const lines = stdout.split("\n").map(line => line.trim())
  const loader = lines.flatMap(line => /^(\/\S+) \(/.exec(line)?.[1] ?? [])[0]
  const libraries = lines.flatMap(line => {
    const [, name, path] = /^(\S+) => (\/\S+) \(/.exec(line) ?? []
    return name && path ? [[name, path] as const] : []
  })
  if (loader === undefined)
    throw new PortError("refused", `${perl} has no loader that could start it elsewhere`)
  return { loader, libraries }
}

/** Makes it in `parentDir`, anew each time: the machine's Perl may have been replaced. */
export const makeAgentKit = async (perl: string, parentDir: string): Promise<AgentKit> => {
  const directory = join(parentDir, "agent")
  const beside = join(parentDir, `agent-${randomUUID()}`)
  const [modules, { loader, libraries }] = await Promise.all([modulesOf(perl), librariesOf(perl)])
  const copies = [
    ...modules.map(([name, path]) => [path, join("inc", name)] as const),
    ...libraries.map(([name, path]) => [path, join("lib", basename(name))] as const),
    ...[[perl, "perl"] as const, [loader, "loader"] as const],
  ]
  for (const [from, name] of copies) {
    const to = join(beside, name)
    await mkdir(dirname(to), { recursive: true, mode: 0o755 })
    await copyFile(from, to)
    await chmod(to, 0o755)
  }
  await writeFile(join(beside, STARTER), await wholeAgent(), { mode: 0o755 })
  await rm(directory, { recursive: true, force: true })
  await rename(beside, directory)
  const interpreter: readonly [string, ...string[]] = [
    `${KIT_AT}/loader`,
    ...["--library-path", `${KIT_AT}/lib`, `${KIT_AT}/perl`, `-I${KIT_AT}/inc`],
  ]
  return { directory, perl: interpreter, argv: [...interpreter, `${KIT_AT}/${STARTER}`] }
}
