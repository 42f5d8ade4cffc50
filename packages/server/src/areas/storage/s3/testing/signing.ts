/** Requests signed by hand: for what no well-behaved client would send. */
import { hash } from "node:crypto"
import { type IncomingHttpHeaders, request } from "node:http"
import { ALGORITHM, type SignableRequest, signatureOf, signingKeyOf } from "../../../../core/keys/sigv4.ts"
import type { TestPlatform } from "../../../../testing/platform.ts"
import type { Access } from "./world.ts"

export interface Plan {
  readonly method?: string
  /** Path and query. */
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Milliseconds since the epoch; the present when not told. */
  readonly atMs?: number
}

const timeOf = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d+/g, "")

const signedRequest = (
  { method = "GET", target }: Plan,
  headers: Record<string, string>,
): SignableRequest => ({
  ...{ method, target },
  header: name => headers[name],
})

/** The headers with which the request is signed. */
export const sign = (p: TestPlatform, { credentials }: Access, plan: Plan): Record<string, string> => {
  const time = timeOf(plan.atMs ?? Date.now())
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`
  const payloadHash = hash("sha256", plan.body ?? "")
  const headers: Record<string, string> = {
    host: new URL(p.url).host,
    "x-amz-content-sha256": payloadHash,
    "x-amz-date": time,
    ...plan.headers,
  }
  const signedHeaders = Object.keys(headers).sort()
  const claim = { time, scope, signedHeaders, payloadHash: headers["x-amz-content-sha256"] ?? payloadHash }
  const signature = signatureOf(
    signedRequest(plan, headers),
    claim,
    signingKeyOf(credentials.secretAccessKey, scope),
  )
  const { host: _, ...rest } = headers
  return {
    ...rest,
    authorization: `${ALGORITHM} Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${signedHeaders.join(";")}, Signature=${signature}`,
  }
}

export interface S3Response {
  readonly status: number
  /** S3's, of a refusal. */
  readonly code: string | undefined
  readonly text: string
}

/** Sends a request as it is, whatever it was signed for. */
export const send = async (
  p: TestPlatform,
  { method = "GET", target, body }: Plan,
  headers: Record<string, string>,
): Promise<S3Response> => {
  const response = await p.request(target, { method, headers, ...(body !== undefined && { body }) })
  const text = await response.text()
  return { status: response.status, code: /<Code>(\w+)<\/Code>/.exec(text)?.[1], text }
}

/** A request for any host, to this platform. */
export const ask = (
  p: TestPlatform,
  host: string,
  target: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
) =>
  new Promise<{ status: number; text: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
    const { hostname, port } = new URL(p.url)
    const options = { hostname, port, method, path: target, headers: { ...headers, host } }
    const sent = request(options, reply => {
      let text = ""
      reply.setEncoding("utf8").on("data", chunk => {
        text += chunk
      })
      reply.once("end", () => resolve({ status: reply.statusCode ?? 0, text, headers: reply.headers }))
    })
    sent.once("error", reject).end()
  })
