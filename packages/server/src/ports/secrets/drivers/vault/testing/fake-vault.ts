/** A small server that answers as Vault's transit engine and token store do, by their documented API. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type RequestListener } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo } from "node:net"
import type { TestContext } from "node:test"

export interface FakeVault {
  readonly address: string
  /** Paths that were asked for, in order. */
  readonly asked: readonly string[]
  /** The tokens that are accepted, and for how long their next lease is; 0: they do not end. */
  readonly tokens: Map<string, number>
  namespace: string | undefined
  /** `sealed` answers 503, `hanging` not at all. */
  condition: "well" | "sealed" | "hanging"
  /** Gives the transit key a new version. */
  rotate(): void
  stop(): Promise<void>
  /** Again at the same address. */
  start(): Promise<void>
}

const KEY_PATH = /^\/v1\/teams\/cloud\/transit\/(encrypt|decrypt)\/(.+)$/

interface VaultResponse {
  readonly status: number
  readonly body: object
}

const failed = (status: number, ...errors: string[]): VaultResponse => ({ status, body: { errors } })
const ok = (fields: object): VaultResponse => ({
  status: 200,
  body: { request_id: "r", warnings: null, ...fields },
})

interface VaultRequest {
  readonly plaintext?: string
  readonly ciphertext?: string
  readonly associated_data?: string
}

const encrypt = (
  keys: readonly Buffer[],
  { plaintext = "", associated_data = "" }: VaultRequest,
): VaultResponse => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv("aes-256-gcm", keys.at(-1) ?? "", nonce)
  cipher.setAAD(Buffer.from(associated_data, "base64"))
  const parts = [nonce, cipher.update(plaintext, "base64"), cipher.final(), cipher.getAuthTag()]
  const ciphertext = `vault:v${keys.length}:${Buffer.concat(parts).toString("base64")}`
  return ok({ data: { ciphertext, key_version: keys.length } })
}

const decrypt = (
  keys: readonly Buffer[],
  { ciphertext = "", associated_data = "" }: VaultRequest,
): VaultResponse => {
  const [, version, text = ""] = /^vault:v(\d+):(.+)$/.exec(ciphertext) ?? []
  const key = keys[Number(version) - 1]
  if (!key) return failed(400, "invalid ciphertext: no prefix")
  const bytes = Buffer.from(text, "base64")
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12))
    decipher.setAAD(Buffer.from(associated_data, "base64")).setAuthTag(bytes.subarray(-16))
    const plaintext = Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()])
    return ok({ data: { plaintext: plaintext.toString("base64") } })
  } catch {
    return failed(400, "cipher: message authentication failed")
  }
}

const bodyOf = async (request: IncomingMessage): Promise<VaultRequest> => {
  let text = ""
  for await (const part of request) text += part
  return JSON.parse(text)
}

/** `tls` holds a certificate and its key in PEM. */
export const startFakeVault = async (
  t: TestContext,
  tls?: { readonly cert: string; readonly key: string },
): Promise<FakeVault> => {
  const keys = [randomBytes(32)]
  const asked: string[] = []
  const tokens = new Map([["root", 0]])
  const state = { namespace: undefined, condition: "well" } as Pick<FakeVault, "namespace" | "condition">

  const answer = async (request: IncomingMessage): Promise<VaultResponse> => {
    const sent = await bodyOf(request)
    const { url: path = "", headers } = request
    asked.push(path)
    if (state.condition === "sealed") return failed(503, "Vault is sealed")
    if (headers["x-vault-namespace"] !== state.namespace) return failed(404)
    const leaseSeconds = tokens.get(String(headers["x-vault-token"]))
    if (leaseSeconds === undefined || request.method !== "POST") return failed(403, "permission denied")
    if (path === "/v1/auth/token/renew-self")
      return ok({ auth: { lease_duration: leaseSeconds, renewable: leaseSeconds > 0 } })
    const [, act, name] = KEY_PATH.exec(path) ?? []
    if (act === undefined) return failed(404)
    if (name !== "svc") return failed(400, "encryption key not found")
    return act === "encrypt" ? encrypt(keys, sent) : decrypt(keys, sent)
  }
  const listener: RequestListener = async (request, response) => {
    const { status, body } = await answer(request)
    if (state.condition === "hanging") return
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

  let server = createServer()
  let port = 0
  const start = async () => {
    server = tls ? createTlsServer(tls, listener) : createServer(listener)
    // Longer than any client keeps a connection: none is closed while a request goes out on it.
    server.keepAliveTimeout = 60_000
    server.listen(port, "127.0.0.1")
    await once(server, "listening")
    port = (server.address() as AddressInfo).port
  }
  const stop = async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, "close")
  }
  await start()
  t.after(stop)

  return Object.assign(state, {
    address: `${tls ? "https" : "http"}://127.0.0.1:${port}`,
    ...{ asked, tokens, start, stop },
    rotate: () => void keys.push(randomBytes(32)),
  })
}
