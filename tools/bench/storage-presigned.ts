/** Objects by presigned URL, as browsers and workers read them, beside MinIO. */
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3"
import { getSignedUrl } from "@aws-sdk/s3-request-presigner"
import type { Tell } from "./figures.ts"
import { type Load, load } from "./load.ts"
import type { S3Server } from "./minio.ts"
import { PORT } from "./platform.ts"

const KIB = 1024
const MIB = 1024 * KIB
const CONNECTIONS = 16
const LARGE_CONNECTIONS = 4
const BUCKET = "bench-presigned"

interface Presigned {
  readonly origin: string
  readonly targets: readonly string[]
}

/** Stores objects of a size, and presigns a URL for each. */
const presign = async (server: S3Server, bytes: number, count: number): Promise<Presigned> => {
  const { endpoint, accessKeyId, secretAccessKey } = server
  const client = new S3Client({
    ...{ endpoint, region: "us-east-1", forcePathStyle: true },
    credentials: { accessKeyId, secretAccessKey },
  })
  const targets: string[] = []
  await client.send(new CreateBucketCommand({ Bucket: BUCKET })).catch(() => undefined)
  for (let at = 0; at < count; at++) {
    const object = { Bucket: BUCKET, Key: `${bytes}-${at}` }
    await client.send(new PutObjectCommand({ ...object, Body: Buffer.alloc(bytes, at) }))
    const { pathname, search } = new URL(await getSignedUrl(client, new GetObjectCommand(object)))
    targets.push(pathname + search)
  }
  client.destroy()
  return { origin: new URL(endpoint).origin, targets }
}

const read = ({ origin, targets }: Presigned, connections: number, seconds: number): Promise<Load> =>
  load(
    {
      url: `${origin}/`,
      headers: {},
      lua: [
        `local targets = {${targets.map(target => JSON.stringify(target)).join(",")}}`,
        "local n = 0",
        'function request() n = n + 1; return wrk.format("GET", targets[n % #targets + 1]) end',
      ],
    },
    connections,
    seconds,
  )

/** What signs for the platform: the credentials of its API key. */
export const ownServer = async (apiKey: string): Promise<S3Server> => {
  const response = await fetch(`http://127.0.0.1:${PORT}/v1/storage/s3-credentials`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}` },
  })
  const { data } = (await response.json()) as {
    data: { access_key_id: string; secret_access_key: string }
  }
  return {
    endpoint: `http://127.0.0.1:${PORT}/s3`,
    accessKeyId: data.access_key_id,
    secretAccessKey: data.secret_access_key,
  }
}

export const presignedFigures = async (
  tell: Tell,
  ours: S3Server,
  minio: S3Server | undefined,
  seconds: number,
): Promise<void> => {
  for (const { what, bytes, count, connections } of [
    { what: "get 4 KiB presigned", bytes: 4 * KIB, count: 100, connections: CONNECTIONS },
    { what: "get 10 MiB presigned", bytes: 10 * MIB, count: 2, connections: LARGE_CONNECTIONS },
  ]) {
    const name = `${what}, ${connections} connections`
    const own = await read(await presign(ours, bytes, count), connections, seconds)
    tell({ [name]: `${own.requestsPerSecond.toFixed(0)} req/s, p50 ${own.p50Ms.toFixed(2)} ms` })
    if (!minio) continue
    const theirs = await read(await presign(minio, bytes, count), connections, seconds)
    tell({
      [`${name}, MinIO`]: `${theirs.requestsPerSecond.toFixed(0)} req/s, p50 ${theirs.p50Ms.toFixed(2)} ms`,
      [`${name}, of MinIO`]: `${((own.requestsPerSecond / theirs.requestsPerSecond) * 100).toFixed(1)} %`,
    })
  }
}
