import { setTimeout as delay } from "node:timers/promises"
import {
  type ConsumerMessages,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream"
import { connect, credsAuthenticator, type NatsConnection, nanos } from "@nats-io/transport-node"
import { PortError } from "../../../port-error.ts"
import type { FanoutPort } from "../../port.ts"
import { readServers } from "./servers.ts"

export interface NatsOptions {
  /** `nats://` or `tls://`, several with commas between; a user and password, or a token alone, before the `@`. */
  readonly url: string
  /** The text of a credentials file, for servers that know accounts. */
  readonly credentials?: string | undefined
  /** Servers of a cluster that keep a copy of the news; 1 when left out. */
  readonly replicas?: number
  readonly log: (line: string) => void
}

const STREAM = "SVC_FANOUT"
const SUBJECTS = "svc.fanout"
/** Who was away for longer looks by itself anyway. */
const KEPT_MS = 60_000
const KEPT_BYTES_MAX = 64 * 2 ** 20
const TELL_MS_MAX = 2_000
const RETRY_MS_MAX = 5_000

const makeStream = async (manager: JetStreamManager, replicas: number): Promise<void> => {
  const config = {
    name: STREAM,
    subjects: [`${SUBJECTS}.>`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.Memory,
    discard: DiscardPolicy.Old,
    max_age: nanos(KEPT_MS),
    max_bytes: KEPT_BYTES_MAX,
    num_replicas: replicas,
  }
  // Where it is there already with these settings, nothing happens.
  await manager.streams.add(config)
}

/** News by a stream of NATS JetStream, for installations whose PostgreSQL should not carry them as well. */
export const openNatsFanout = ({ url, credentials, replicas = 1, log }: NatsOptions): FanoutPort => {
  const listeners = new Map<string, ((ids: readonly string[] | undefined) => void)[]>()
  const closing = new AbortController()
  let connection: NatsConnection | undefined
  let messages: ConsumerMessages | undefined
  /** Undefined while news may be missed. */
  let client: JetStreamClient | undefined

  const hearAll = () => {
    for (const hear of [...listeners.values()].flat()) hear(undefined)
  }

  const open = async (): Promise<NatsConnection> => {
    if (connection && !connection.isClosed()) return connection
    const { servers, ...login } = readServers(url)
    connection = await connect({
      ...{ servers, name: "svc", ...login, maxReconnectAttempts: -1, timeout: RETRY_MS_MAX },
      ...(credentials !== undefined && {
        authenticator: credsAuthenticator(new TextEncoder().encode(credentials)),
      }),
    })
    return connection
  }

  /** From the newest on, until the stream or the connection is lost. */
  const listen = async (): Promise<void> => {
    const manager = await jetstreamManager(await open())
    await makeStream(manager, replicas)
    const next = manager.jetstream()
    const consumer = await next.consumers.get(STREAM, { deliver_policy: DeliverPolicy.New })
    messages = await consumer.consume({ abort_on_missing_resource: true })
    if (closing.signal.aborted) return messages.stop()
    client = next
    hearAll()
    for await (const message of messages) {
      const ids = message.string().split(",")
      for (const hear of listeners.get(message.subject.slice(SUBJECTS.length + 1)) ?? []) hear(ids)
    }
  }

  const keepListening = async (): Promise<void> => {
    for (let attempt = 0; !closing.signal.aborted; attempt++) {
      await listen().catch(error => log(`news by NATS are interrupted: ${String(error)}`))
      if (client) attempt = 0
      client = undefined
      const pauseMs = Math.min(RETRY_MS_MAX, 100 * 2 ** attempt)
      await delay(pauseMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
  }
  const listening = keepListening()

  return {
    async tell(topic, ids) {
      if (!client) throw new PortError("unavailable", "NATS is not connected")
      await client.publish(`${SUBJECTS}.${topic}`, ids.join(","), { timeout: TELL_MS_MAX }).catch(error => {
        throw new PortError("unavailable", "NATS took no news", error)
      })
    },
    subscribe(topic, hear) {
      listeners.set(topic, [...(listeners.get(topic) ?? []), hear])
    },
    health: () => (client ? { ok: true } : { ok: false, reason: "NATS is not connected" }),
    async [Symbol.asyncDispose]() {
      closing.abort()
      await messages?.close()
      await listening
      // What the library still writes after a plain close breaks the process.
      await (client ? connection?.drain() : connection?.close())
    },
  }
}
