import { createPrivateKey, type KeyObject } from "node:crypto"
import type { Needs } from "../needs.ts"

/** How computers are reached by ssh. */
export interface SshSettings {
  /** In records. */
  readonly host: string
  /** Where this process listens. */
  readonly port: number
  /** Ed25519, the same for all processes of an installation, so that clients know every one of them. */
  readonly hostKey: KeyObject
}

/** Of the seed, wrapped as PKCS #8 does it (RFC 8410). */
const ed25519Of = (seed: Buffer): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]),
    format: "der",
    type: "pkcs8",
  })

/** Undefined where ssh is off. */
export const sshSettings = ({
  ports,
  settings,
  baseUrl,
  deriveSecret,
}: Pick<Needs, "ports" | "settings" | "baseUrl" | "deriveSecret">): SshSettings | undefined =>
  ports.ssh === undefined
    ? undefined
    : {
        host: settings.sshHost ?? new URL(baseUrl).hostname,
        port: ports.ssh,
        hostKey: ed25519Of(deriveSecret("svc:ssh-host-key", "ed25519")),
      }
