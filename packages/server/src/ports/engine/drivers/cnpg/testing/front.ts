/** What a Service of Kubernetes and a server's own TLS are to a client: names that lead to PostgreSQL, with a certificate. */
import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TLSSocket } from "node:tls"
import { promisify } from "node:util"

export interface Front extends AsyncDisposable {
  readonly port: number
  /** The certificate, in PEM; its own authority. */
  readonly ca: string
}

const makeCertificate = async (name: string) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-front-"))
  try {
    const [key, cert] = [join(folder, "key"), join(folder, "cert")]
    await promisify(execFile)("openssl", [
      ...[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ],
      ...["-keyout", key, "-out", cert, "-subj", "/CN=test", "-addext", `subjectAltName=DNS:${name}`],
    ])
    return { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Length 8, then the code by which a client asks for TLS. */
const TLS_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** `socketOf` gives the Unix socket of a host name, or undefined while nothing listens there. */
export const startFront = async (
  namespace: string,
  socketOf: (host: string) => string | undefined,
): Promise<Front> => {
  const { key, cert } = await makeCertificate(`*.${namespace}.svc`)
  const open = new Set<Socket>()

  const serve = async (socket: Socket) => {
    const [first] = (await once(socket, "data")) as [Buffer]
    if (!first.equals(TLS_REQUEST)) return socket.destroy()
    socket.write("S")
    const secured = new TLSSocket(socket, { isServer: true, key, cert })
    secured.on("error", () => socket.destroy())
    await once(secured, "secure")
    const path = socketOf((secured as TLSSocket & { servername?: string }).servername ?? "")
    if (path === undefined) return socket.destroy()
    const server = connect(path)
    server.on("error", () => secured.destroy())
    server.on("close", () => secured.destroy())
    secured.on("close", () => server.destroy())
    secured.pipe(server)
    server.pipe(secured)
  }

  const listener = createServer(socket => {
    open.add(socket)
    socket.on("error", () => undefined)
    socket.on("close", () => open.delete(socket))
    serve(socket).catch(() => socket.destroy())
  })
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")

  return {
    ca: cert,
    port: (listener.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      listener.close()
      await once(listener, "close")
    },
  }
}
