/** `svc computers ssh`: the system's own ssh, with the right address and name. */
import { spawn } from "node:child_process"
import type { OwnFlags } from "../arguments.ts"
import { connectWithKey } from "../connect.ts"
import { exitCodes, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"
import { findProgram } from "./machine.ts"
import { allPages } from "./pages.ts"

export const sshFlags: OwnFlags = {
  root: { type: "boolean", about: "Log in as root" },
}

export const sshUsage = `svc computers ssh <name or id> [--root] [-- <command, or options of ssh>]

Your ssh key must be on the computer's record: svc computers set-ssh-keys.`

export const ssh: Extra = async (globals, [name, ...words], terminal, flags) => {
  if (name === undefined) throw new UsageError("name the computer", "computers ssh")
  const program = await findProgram("ssh", terminal.env.PATH)
  if (program === undefined) throw new UsageError("there is no program ssh on this machine")
  const svc = await connectWithKey(globals, terminal)
  const all = await allPages(async page => {
    const { computers, total } = await svc.computers.list(page)
    return { data: computers, total }
  })
  const found = all.find(computer => computer.name === name || computer.id === name)
  if (!found) throw new UsageError(`there is no computer ${name}; svc computers list shows them`)
  const { id, ssh_host, ssh_port } = found
  if (ssh_host === null || ssh_port === null)
    throw new UsageError("computers of this platform are not reached by ssh: SVC_SSH_PORT is off there")
  const login = `${flags.root === true ? "root+" : ""}${id}@${ssh_host}`
  const child = spawn(program, ["-p", String(ssh_port), login, ...words], { stdio: "inherit" })
  return new Promise<number>((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", code => resolve(code ?? exitCodes.refused))
  })
}
