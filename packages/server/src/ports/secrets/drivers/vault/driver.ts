/** Wraps with the transit engine of a HashiCorp Vault: the wrapping key is Vault's and never leaves it. */
import { setTimeout as delay } from "node:timers/promises"
import { PortError } from "../../../port-error.ts"
import type { SecretsPort } from "../../port.ts"
import { createVaultClient, type VaultClient, type VaultClientOptions } from "./client.ts"

export interface VaultOptions extends VaultClientOptions {
  /** Where the transit engine is mounted, as `transit` or `teams/cloud/transit`. */
  readonly mount: string
  /** The transit key's name. */
  readonly keyName: string
  readonly warn: (line: string) => void
}

/** Of a lease, so that a renewal that fails can be tried again before it ends. */
const RENEW_AFTER = 0.5
const RENEW_MS_MIN = 1_000
const RENEW_MS_MAX = 24 * 3_600_000
const RETRY_MS = 30_000

const encoded = (text: string): string => Buffer.from(text).toString("base64")

const fieldOf = (data: Readonly<Record<string, unknown>> | undefined, field: string): string => {
  const value = data?.[field]
  if (typeof value === "string") return value
  throw new PortError("unavailable", `Vault's answer has no ${field}`)
}

/**
 * Keeps a token alive for as long as it may be renewed. One that may not, a root token say, is left alone; once Vault
 * refuses it, every wrap says so.
 */
const renewToken = async (client: VaultClient, warn: (line: string) => void, signal: AbortSignal) => {
  for (;;) {
    let waitMs = RETRY_MS
    try {
      const { auth } = await client.post("auth/token/renew-self", {})
      const leaseSeconds = Number(auth?.lease_duration ?? 0)
      if (auth?.renewable !== true || leaseSeconds === 0) return
      waitMs = Math.min(RENEW_MS_MAX, Math.max(RENEW_MS_MIN, leaseSeconds * 1000 * RENEW_AFTER))
    } catch (error) {
      // 400: this token is not one that is renewed.
      if (error instanceof PortError && error.kind === "refused") return
      if (signal.aborted) return
      warn(`the Vault token could not be renewed: ${error instanceof Error ? error.message : error}`)
    }
    await delay(waitMs, undefined, { signal, ref: false })
  }
}

export const openVaultSecrets = (options: VaultOptions): SecretsPort => {
  const { mount, keyName, warn } = options
  const client = createVaultClient(options)
  const closing = new AbortController()
  const pathOf = (act: string) => `${mount}/${act}/${encodeURIComponent(keyName)}`
  if (options.tokenFile === undefined) {
    // Its only rejection is the end of the wait when the driver is closed.
    renewToken(client, warn, closing.signal).catch(() => undefined)
  }

  const wrap = async (key: Uint8Array, context: string): Promise<string> => {
    const { data } = await client.post(pathOf("encrypt"), {
      plaintext: Buffer.from(key).toString("base64"),
      associated_data: encoded(context),
    })
    return fieldOf(data, "ciphertext")
  }

  return {
    wrap,
    async unwrap(wrapped, context) {
      const { data } = await client.post(pathOf("decrypt"), {
        ciphertext: wrapped,
        associated_data: encoded(context),
      })
      return Buffer.from(fieldOf(data, "plaintext"), "base64")
    },
    async health() {
      try {
        // Proves address, token, policy, engine and key at once, and shows the version of the key: vault:v3:….
        const sample = await wrap(Buffer.from("health"), "health")
        return { ok: true, generation: sample.slice(0, sample.lastIndexOf(":") + 1) }
      } catch (error) {
        return { ok: false, reason: error instanceof Error ? error.message : String(error) }
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      client[Symbol.dispose]()
    },
  }
}
