/** Clients of the ssh port. */
import { once } from "node:events"
import ssh2, {
  type Client,
  type ClientChannel,
  type ConnectConfig,
  type ExecOptions,
  type PseudoTtyOptions,
} from "ssh2"
import type { Ends } from "../../../testing/ends.ts"

/** A key pair; the private one in OpenSSH's format. */
export const keyPair = (type: "ed25519" | "ecdsa" | "rsa" = "ed25519") => {
  const bits = { ed25519: 0, ecdsa: 256, rsa: 2048 }[type]
  const made = ssh2.utils.generateKeyPairSync(type, { bits, comment: "ada@laptop" } as { bits: number })
  return { privateKey: made.private, publicKey: made.public }
}

export interface CommandResult {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
  readonly signal: string | undefined
}

/** A client that is logged in; rejects when it is not let in. */
export const sshClient = async (t: Ends, config: ConnectConfig): Promise<Client> => {
  const client = new ssh2.Client()
  t.after(() => client.destroy())
  const failed = Promise.withResolvers<never>()
  client.on("error", failed.reject)
  client.on("close", () => failed.reject(new Error("the connection was closed")))
  failed.promise.catch(() => undefined)
  // The port itself gives up who does not log in; ssh2 would earlier.
  client.connect({ host: "127.0.0.1", readyTimeout: 120_000, ...config })
  await Promise.race([once(client, "ready"), failed.promise])
  return client
}

/** Everything a channel says, until it is closed. */
export const answerOf = async (channel: ClientChannel): Promise<CommandResult> => {
  const texts = { stdout: "", stderr: "" }
  channel.setEncoding("utf8").on("data", (text: string) => {
    texts.stdout += text
  })
  channel.stderr.setEncoding("utf8").on("data", (text: string) => {
    texts.stderr += text
  })
  const [code, signal] = await once(channel, "close")
  return { ...texts, code: code ?? null, signal }
}

export const openExec = (client: Client, command: string, options: ExecOptions = {}) =>
  new Promise<ClientChannel>((resolve, reject) =>
    client.exec(command, options, (error, channel) => (error ? reject(error) : resolve(channel))),
  )

export const exec = async (client: Client, command: string, input = "", options: ExecOptions = {}) => {
  const channel = await openExec(client, command, options)
  const answer = answerOf(channel)
  channel.end(input)
  return await answer
}

/** Gives functions that wait until a text has come, each from where the one before stopped. */
export const listenTo = (channel: ClientChannel) => {
  let said = ""
  let look: (() => void) | undefined
  channel.setEncoding("utf8").on("data", (text: string) => {
    said += text
    look?.()
  })
  return (expected: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const closed = () => reject(new Error(`it ended without ${expected}: ${said}`))
      channel.once("close", closed)
      look = () => {
        const found = expected.exec(said)
        if (!found) return
        const heard = said.slice(0, found.index + found[0].length)
        said = said.slice(heard.length)
        look = undefined
        channel.off("close", closed)
        resolve(heard)
      }
      look()
    })
}

export const openShell = (client: Client, options: PseudoTtyOptions = {}) =>
  new Promise<ClientChannel>((resolve, reject) =>
    client.shell(options, (error, channel) => (error ? reject(error) : resolve(channel))),
  )

export const openForward = (client: Client, host: string, port: number) =>
  new Promise<ClientChannel>((resolve, reject) =>
    client.forwardOut("127.0.0.1", 1, host, port, (error, channel) =>
      error ? reject(error) : resolve(channel),
    ),
  )
