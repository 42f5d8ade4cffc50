/** `svc computers ssh`: the system's own ssh, with the right address and name; and `svc computers shell`, without. */
import { spawn } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Svc } from "@svc/sdk"
import type { OwnFlags } from "../arguments.ts"
import { connectWithKey } from "../connect.ts"
import { exitCodes, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"
import { findProgram } from "./machine.ts"
import { allPages } from "./pages.ts"
import { runShell, shellInput } from "./shell.ts"

export const sshFlags: OwnFlags = {
  root: { type: "boolean", about: "Log in as root" },
}

export const sshUsage = `svc computers ssh <name or id> [--root] [-- <command, or options of ssh>]

Your ssh key must be on the computer's record: svc computers set-ssh-keys. The host key is checked: the platform's API
says which one it is.`

const find = async (svc: Svc, name: string) => {
  const all = await allPages(async page => {
    const { computers, total } = await svc.computers.list(page)
    return { data: computers, total }
  })
  const found = all.find(computer => computer.name === name || computer.id === name)
  if (!found) throw new UsageError(`there is no computer ${name}; svc computers list shows them`)
  return found
}

export const shellUsage = `svc computers shell <name or id> [--root] [--cwd <directory>] [-- <command>]

Needs no ssh and no key of it. Enter, ~ and . end a shell that does not answer any more.`

export const shell: Extra = async (globals, [name, ...words], terminal, flags) => {
  if (name === undefined) throw new UsageError("name the computer", "computers shell")
  const svc = await connectWithKey(globals, terminal)
  const { id } = await find(svc, name)
  return runShell(terminal, size => svc.computers.terminal({ id, ...shellInput(words, flags), ...size }))
}

export const ssh: Extra = async (globals, [name, ...words], terminal, flags) => {
  if (name === undefined) throw new UsageError("name the computer", "computers ssh")
  const program = await findProgram("ssh", terminal.env.PATH)
  if (program === undefined) throw new UsageError("there is no program ssh on this machine")
  const svc = await connectWithKey(globals, terminal)
  const { id, ssh_host, ssh_port, ssh_host_key } = await find(svc, name)
  if (ssh_host === null || ssh_port === null || ssh_host_key === null)
    throw new UsageError("ssh to computers is disabled on this server (SVC_SSH_PORT=off)")
  const login = `${flags.root === true ? "root+" : ""}${id}@${ssh_host}`
  await using known = await writeKnownHosts(`[${ssh_host}]:${ssh_port},${ssh_host} ${ssh_host_key}\n`)
  const trusting = ["-o", `UserKnownHostsFile="${known.path}"`, "-o", "StrictHostKeyChecking=yes"]
  const child = spawn(program, [...trusting, "-p", String(ssh_port), login, ...words], { stdio: "inherit" })
  return await new Promise<number>((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", code => resolve(code ?? exitCodes.refused))
  })
}

/** The platform says by its API, over the connection that the key is sent on, which host key is its own. */
const writeKnownHosts = async (text: string) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-ssh-"))
  const path = join(folder, "known_hosts")
  await writeFile(path, text)
  return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
