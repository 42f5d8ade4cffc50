/**
 * An Internet on this machine: a network namespace that has addresses of servers, and on a cable to it the namespace
 * that this process is in, which tests take for the machine. Started by `lab.ts` as a process of its own.
 */
import { execFileSync } from "node:child_process"
import { createSocket } from "node:dgram"
import { createServer } from "node:net"
import { internet } from "./lab.ts"

const ip = (...args: readonly string[]) => execFileSync("ip", args)
const addresses = [...internet.servers, ...internet.inside]
/** Datagrams that came. `?text` asks whether one said that text; others are sent back. */
const heard = new Set<string>()

process.stdin.once("data", async () => {
  ip("link", "set", "lo", "up")
  ip("address", "add", `${internet.router}/24`, "dev", "far")
  ip("link", "set", "far", "up")
  for (const address of addresses) ip("address", "add", `${address}/32`, "dev", "lo")
  const server = createServer(socket => {
    socket.on("error", () => undefined)
    socket.end(`${socket.localAddress} ${socket.remoteAddress}\n`)
  })
  await new Promise<void>(resolve => server.listen(internet.port, "0.0.0.0", 2048, resolve))
  for (const address of addresses) {
    const socket = createSocket("udp4")
    socket.on("message", (message, { port, address: from }) => {
      const said = message.toString("latin1")
      const isAsked = said.startsWith("?")
      if (!isAsked) heard.add(said)
      socket.send(isAsked ? String(heard.has(said.slice(1))) : message, port, from)
    })
    await new Promise<void>(resolve => socket.bind(internet.port, address, resolve))
  }
  process.stdout.write("up\n")
})
process.stdin.on("end", () => process.exit())
process.stdout.write("here\n")
