/**
 * The process through which all bytes between clients and tenant databases go. It is forked by `wire.ts`, gets each
 * accepted socket from there, and asks it where branches are; it ends when its parent does.
 */
import { createHash } from "node:crypto"
import type { Socket } from "node:net"
import { createSecureContext } from "node:tls"
import { systemClock } from "../../../kernel/clock.ts"
import { createBranches } from "./branches.ts"
import { createCallReports } from "./call-reports.ts"
import { endPointBinding } from "./channel-binding.ts"
import { SQLSTATE, terminated, WireRefusal } from "./error-response.ts"
import type { TlsIdentity } from "./greeting.ts"
import type { ProxySettings } from "./messages.ts"
import { createParent } from "./parent.ts"
import { Pooler } from "./pooler/pooler.ts"
import { farewell } from "./relay.ts"
import { type SessionHost, serve } from "./session.ts"
import { createVerifiers } from "./verifiers.ts"

const CERTIFICATE_FOR_MS = 3_600_000
const KEEP_ALIVE_AFTER_MS = 60_000
/** For clients to hear that the platform stops. */
const STOP_WITHIN_MS = 2_000

const { requireTls, readsVerifiers, limits }: ProxySettings = JSON.parse(process.argv[2] ?? "{}")

const startups = new Map<string, number>()
const sockets = new Set<Socket>()
/** Those that are not logged in yet. */
const starting = new Set<Socket>()

const countStartup = (address: string, socket: Socket): Disposable => {
  starting.add(socket)
  startups.set(address, (startups.get(address) ?? 0) + 1)
  let counted = true
  return {
    [Symbol.dispose]() {
      if (!counted) return
      counted = false
      starting.delete(socket)
      const left = (startups.get(address) ?? 0) - 1
      if (left > 0) startups.set(address, left)
      else startups.delete(address)
    },
  }
}

const accept = (connectionId: string, socket: Socket, tunneled: string | undefined) => {
  const address = tunneled ?? socket.remoteAddress ?? ""
  const startup = countStartup(address, socket)
  sockets.add(socket)
  socket.setNoDelay(true)
  socket.setKeepAlive(true, KEEP_ALIVE_AFTER_MS)
  socket.once("close", () => {
    startup[Symbol.dispose]()
    sockets.delete(socket)
    void parent.tell({ kind: "closed", connectionId })
  })
  if ((startups.get(address) ?? 0) > limits.startupsPerAddressMax) {
    const message = "too many connections of this address are starting"
    return farewell(socket, new WireRefusal({ sqlstate: SQLSTATE.tooManyConnections, message }))
  }
  const client = {
    socket,
    connectionId,
    address,
    isTunneled: tunneled !== undefined,
    settled: () => startup[Symbol.dispose](),
  }
  void serve(client, host)
}

const stop = () => {
  pooler?.endAll(terminated())
  branches.endAll(terminated())
  for (const socket of starting) socket.destroy()
  const leave = () => {
    reports[Symbol.dispose]()
    branches[Symbol.dispose]()
    // The last messages are on their way first.
    setImmediate(() => process.disconnect())
  }
  const deadline = setTimeout(leave, STOP_WITHIN_MS)
  const look = () => {
    if (sockets.size > 0) return
    clearTimeout(deadline)
    leave()
  }
  for (const socket of sockets) socket.once("close", () => setImmediate(look))
  look()
}

const parent = createParent({
  connection: accept,
  disconnect: branchId => branches.end(branchId, terminated()),
  stop,
  gone: () => process.exit(),
})
const branches = createBranches(events => void parent.tell({ kind: "activity", events }))
const reports = createCallReports((calls, missed) => parent.tell({ kind: "calls", calls, missed }))

let certificate: Promise<TlsIdentity & { readonly secret: Buffer }> | undefined
let certificateUntilMs = 0

const readCertificate = async () => {
  const { key, cert } = await parent.certificate()
  const context = createSecureContext({ key, cert, minVersion: "TLSv1.2" })
  const secret = createHash("sha256").update("mock salts").update(key).digest()
  return { context, secret, binding: readsVerifiers ? endPointBinding(cert) : undefined }
}

const currentCertificate = () => {
  if (certificate && performance.now() < certificateUntilMs) return certificate
  const reading = readCertificate()
  certificate = reading
  certificateUntilMs = performance.now() + CERTIFICATE_FOR_MS
  reading.catch(() => {
    if (certificate === reading) certificate = undefined
  })
  return reading
}

const shared = {
  limits,
  mockSecret: async () => (await currentCertificate()).secret,
  open: parent.open,
  admit: branches.admit,
  leave: branches.leave,
  used: branches.used,
  call: reports.add,
  claimKey: branches.claimKey,
  warn: (message: string, reason: unknown) =>
    void parent.tell({ kind: "warning", message, reason: String(reason) }),
}

const pooler = readsVerifiers
  ? new Pooler({ ...shared, clock: systemClock, verifier: parent.verifier })
  : undefined

const host: SessionHost = {
  ...shared,
  pooler,
  greeter: { requireTls, identity: currentCertificate },
  verifiers: createVerifiers(parent.verifier),
  cancel: branches.cancel,
}

// Ctrl-C in a terminal reaches the whole group, and clients are to be told when the platform has drained.
process.on("SIGINT", () => undefined)
process.on("SIGTERM", () => undefined)
