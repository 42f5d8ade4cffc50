/** As much of Vault's HTTP API as wrapping keys needs, bounded in size and time. OpenBao speaks the same. */
import { createHttpServer, createTokenReader, readText } from "../../../http-server.ts"
import { PortError } from "../../../port-error.ts"

export interface VaultClientOptions {
  /** As `https://vault.example.com:8200`. */
  readonly address: string
  /** A token, or the file that holds it: an agent renews the one in its file. */
  readonly token?: string | undefined
  readonly tokenFile?: string | undefined
  readonly namespace?: string | undefined
  /** The certificates, in PEM, that Vault's own is checked against; those that Node trusts when left out. */
  readonly caFile?: string | undefined
  /** How long one request may take. */
  readonly timeoutMs?: number | undefined
}

export interface VaultClient extends Disposable {
  /** The `data` or `auth` of the answer. `path` is relative to `/v1/`. */
  post(path: string, body: object): Promise<VaultAnswer>
}

export interface VaultAnswer {
  readonly data?: Readonly<Record<string, unknown>>
  readonly auth?: Readonly<Record<string, unknown>> | null
}

const TIMEOUT_MS = 5_000
const ANSWER_BYTES_MAX = 1024 * 1024
const SOCKETS_MAX = 8

/** Vault's own words: `{"errors": ["permission denied"]}`. They name paths and causes, never what was wrapped. */
const complaint = (text: string): string => {
  try {
    return String(JSON.parse(text).errors?.join("; ") ?? "").slice(0, 500)
  } catch {
    return ""
  }
}

/** What a decrypt with a key that does not exist is answered, with 400. */
const KEY_MISSING = "encryption key not found"

/** 400 is about the text that was sent; all else is about Vault, the token or the key. */
const refusal = (status: number, path: string, text: string): PortError => {
  const causes: Readonly<Record<number, string>> = {
    403: "the token is not valid any more, or its policy does not allow this",
    404: "there is no transit engine or no key of this name",
    503: "Vault is sealed or in maintenance",
  }
  const said = complaint(text)
  const cause = [causes[status], said].filter(Boolean).join(": ")
  const isAboutText = status === 400 && said !== KEY_MISSING
  return new PortError(
    isAboutText ? "refused" : "unavailable",
    `Vault answered ${status} to ${path}: ${cause}`,
  )
}

export const createVaultClient = (options: VaultClientOptions): VaultClient => {
  const { timeoutMs = TIMEOUT_MS } = options
  const server = createHttpServer({ url: options.address, caFile: options.caFile, socketsMax: SOCKETS_MAX })
  // Read every time: keys are wrapped seldom, and an agent may have changed it a moment ago.
  const tokenOf = createTokenReader(options, 0)
  const closing = new AbortController()

  const ask = async (path: string, body: object): Promise<{ status: number; text: string }> => {
    try {
      const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(timeoutMs)])
      const response = await server.request({
        method: "POST",
        path: `/v1/${path}`,
        headers: {
          "content-type": "application/json",
          "x-vault-request": "true",
          "x-vault-token": (await tokenOf()) ?? "",
          ...(options.namespace === undefined ? {} : { "x-vault-namespace": options.namespace }),
        },
        body: JSON.stringify(body),
        signal,
      })
      return { status: response.statusCode ?? 0, text: await readText(response, ANSWER_BYTES_MAX) }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new PortError("unavailable", `Vault does not answer at ${options.address}: ${reason}`, error)
    }
  }

  return {
    async post(path, body) {
      const { status, text } = await ask(path, body)
      if (status !== 200) throw refusal(status, path, text)
      try {
        return JSON.parse(text)
      } catch (error) {
        throw new PortError("unavailable", `what answers at ${options.address} is not Vault`, error)
      }
    },
    [Symbol.dispose]() {
      closing.abort()
      server[Symbol.dispose]()
    },
  }
}
