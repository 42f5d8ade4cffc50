import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createServer, type Http2Session } from "node:http2"
import { type AddressInfo, connect } from "node:net"
import type { TestContext } from "node:test"
import { createTestClock } from "../../testing/clock.ts"
import { answer, closeAtOnce, type Script, startReceiver } from "../../testing/receiver.ts"
import { type PushHarness, pushConformance, type Verdict } from "./conformance.ts"
import { openPush } from "./index.ts"
import type { PushConnect, PushFetch, PushTarget } from "./port.ts"
import { createBrowser } from "./testing/browser.ts"

const ec = generateKeyPairSync("ec", { namedCurve: "P-256" })
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 })
const pem = ({ privateKey }: typeof ec) => privateKey.export({ type: "pkcs8", format: "pem" }).toString()

const unanswered = (message: string) => ({ kind: "unanswered" as const, isFinal: false, message })

const fetchPlainly: PushFetch = async ({ url, ...request }) => {
  try {
    const response = await fetch(url, { ...request, body: request.body as string })
    const headers = Object.fromEntries(response.headers)
    return { kind: "answered", status: response.status, headers, body: await response.bytes() }
  } catch {
    return unanswered("there was no answer")
  }
}

const connectPlainly: PushConnect = async url => {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  try {
    await once(socket, "connect")
    return { kind: "connected", socket }
  } catch {
    return unanswered("there was no connection")
  }
}

const open = (t: TestContext, target: PushTarget): Pick<PushHarness, "send"> => {
  const push = openPush({ fetch: fetchPlainly, connect: connectPlainly, clock: createTestClock() })
  t.after(() => push[Symbol.asyncDispose]())
  return { send: (change, signal) => push.send({ ...change, ...target }, signal) }
}

const BUSY = { "retry-after": "120" }

pushConformance("Web Push", async t => {
  const service = await startReceiver(t)
  const browser = createBrowser(`${service.url}/push/secret-path`)
  const { endpoint, keys } = browser.subscription
  const scripts: Readonly<Record<Verdict, Script>> = {
    ...{ taken: answer(201), gone: answer(410), refused: answer(413), busy: answer(429, BUSY) },
    broken: closeAtOnce,
  }
  const point = ec.publicKey.export({ format: "jwk" })
  const raw = [Buffer.of(4), Buffer.from(point.x ?? "", "base64url"), Buffer.from(point.y ?? "", "base64url")]
  const credentials = {
    ...{ publicKey: Buffer.concat(raw).toString("base64url"), privateKey: pem(ec) },
    subject: "mailto:a@b.example",
  }
  return {
    ...open(t, { provider: "webpush", subscription: { endpoint, ...keys }, credentials }),
    script: (...verdicts) => service.script(...verdicts.map(verdict => scripts[verdict])),
    shown: () => {
      const { title, body } = browser.read(service.requests.at(-1)?.body ?? Buffer.alloc(0)) as ReturnType<
        PushHarness["shown"]
      >
      return { title, body }
    },
    secrets: ["secret-path", keys.auth],
    stop: async () => service.script(closeAtOnce),
  }
})

const fcmError = (status: number, errorCode: string) =>
  answer(status, {}, JSON.stringify({ error: { details: [{ errorCode }] } }))

pushConformance("FCM", async t => {
  const service = await startReceiver(t)
  const scripts: Readonly<Record<Verdict, Script>> = {
    ...{ taken: answer(200, {}, "{}"), gone: fcmError(404, "UNREGISTERED") },
    ...{ refused: fcmError(400, "INVALID_ARGUMENT"), busy: answer(503, BUSY), broken: closeAtOnce },
  }
  const credentials = {
    ...{ projectId: "demo", clientEmail: "a@b.example", privateKey: pem(rsa) },
    ...{ url: service.url, tokenUrl: `${service.url}/token` },
  }
  const granted = answer(200, {}, '{"access_token":"granted-token","expires_in":3600}')
  return {
    ...open(t, { provider: "fcm", token: "secret-token", credentials }),
    script: (...verdicts) => service.script(granted, ...verdicts.map(verdict => scripts[verdict])),
    shown: () => JSON.parse(service.requests.at(-1)?.body.toString() ?? "").message.notification,
    secrets: ["secret-token", "granted-token"],
    stop: async () => service.script(closeAtOnce),
  }
})

pushConformance("APNs", async t => {
  let verdicts: readonly Verdict[] = []
  let last = ""
  const sessions = new Set<Http2Session>()
  const server = createServer()
  server.on("session", session => sessions.add(session.on("error", () => undefined)))
  server.on("stream", async stream => {
    stream.on("error", () => undefined)
    let body = ""
    for await (const chunk of stream) body += chunk
    last = body
    const [verdict = "taken", ...rest] = verdicts
    if (rest.length > 0) verdicts = rest
    if (verdict === "broken") return void stream.session?.destroy()
    const status = { taken: 200, gone: 410, refused: 400, busy: 429 }[verdict]
    stream.respond({ ":status": status, ...(verdict === "busy" && BUSY) })
    stream.end(
      status === 200 ? "" : JSON.stringify({ reason: verdict === "gone" ? "Unregistered" : "BadTopic" }),
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const stop = async () => {
    for (const session of sessions) session.destroy()
    if (!server.listening) return
    server.close()
    await once(server, "close")
  }
  t.after(stop)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const credentials = { teamId: "T", keyId: "K", privateKey: pem(ec), topic: "app", url }
  return {
    ...open(t, { provider: "apns", token: "ab12", environment: "production", credentials }),
    script: (...given) => {
      verdicts = given
    },
    shown: () => JSON.parse(last).aps.alert,
    secrets: ["ab12"],
    stop,
  }
})
