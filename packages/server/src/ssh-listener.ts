/** The port for ssh clients, which listens though nobody has a computer yet. */
import { createPrivateKey, hkdfSync, type KeyObject } from "node:crypto"
import type { Config } from "./config.ts"
import type { Logger } from "./kernel/log.ts"
import type { Offer } from "./kernel/offer.ts"
import { errorCode, StartupError } from "./kernel/startup-error.ts"
import { type Accept, openTcpListener } from "./kernel/tcp-listener.ts"
import type { SshSettings } from "./services.ts"

/** Of the seed, wrapped as PKCS #8 does it (RFC 8410). */
const ed25519Of = (seed: Buffer): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  })

const cannotListen = (host: string, port: number, error: unknown): unknown =>
  errorCode(error) === "EADDRINUSE"
    ? new StartupError(
        `Svc cannot listen on ${host}:${port} for ssh: something else does.`,
        "Stop what listens there, or choose another port through SVC_SSH_PORT; off: none.",
        { cause: error },
      )
    : error

interface Needs {
  readonly config: Config
  readonly masterKey: Buffer
  readonly log: Logger
  readonly clients: Offer<Accept>
}

/** Undefined where it is off. The same master key makes the same host key, so that clients know every process of an installation. */
export const openSshListener = async (
  { config, masterKey, log, clients }: Needs,
  opened: AsyncDisposableStack,
): Promise<SshSettings | undefined> => {
  const { host, sshPort: port } = config
  if (port === "off") return undefined
  const listener = await openTcpListener({ host, port, server: clients.get, log }).catch(error => {
    throw cannotListen(host, port, error)
  })
  opened.use(listener)
  return {
    host: config.sshHost ?? new URL(config.baseUrl).hostname,
    port: listener.port,
    hostKey: ed25519Of(Buffer.from(hkdfSync("sha256", masterKey, "svc:ssh-host-key", "ed25519", 32))),
  }
}
