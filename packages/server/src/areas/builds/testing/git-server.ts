/** Git's own server for repositories that a test makes, on this machine. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Ends } from "../../../testing/ends.ts"

const env = {
  ...{ PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" },
  ...{ GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@example.com" },
  ...{ GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@example.com" },
}

export const git = (folder: string, args: readonly string[], input: string | Buffer = ""): string =>
  execFileSync("git", [...args], { cwd: folder, env, input, stdio: ["pipe", "pipe", "pipe"] })
    .toString()
    .trim()

/** The answer of a CGI program, whose head ends with an empty line. */
const answer = (output: Buffer, response: ServerResponse) => {
  const end = output.indexOf("\r\n\r\n")
  for (const line of output.toString("latin1", 0, end).split("\r\n")) {
    const [name = "", value = ""] = line.split(": ", 2)
    if (name === "Status") response.statusCode = Number.parseInt(value, 10)
    else response.setHeader(name, value)
  }
  response.end(output.subarray(end + 4))
}

const serve = async (root: string, request: IncomingMessage, response: ServerResponse) => {
  const url = new URL(request.url ?? "/", "http://localhost")
  const program = spawn("git", ["http-backend"], {
    env: {
      ...{ ...env, GIT_PROJECT_ROOT: root, GIT_HTTP_EXPORT_ALL: "1", PATH_INFO: url.pathname },
      ...{ QUERY_STRING: url.search.slice(1), REQUEST_METHOD: request.method ?? "GET" },
      ...{ CONTENT_TYPE: request.headers["content-type"] ?? "", REMOTE_ADDR: "127.0.0.1" },
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
    },
  })
  request.pipe(program.stdin)
  const chunks: Buffer[] = []
  program.stdout.on("data", chunk => chunks.push(chunk))
  await once(program, "close")
  answer(Buffer.concat(chunks), response)
}

export interface GitServer {
  readonly url: string
  /** What opens repositories whose names begin with `private`. */
  readonly token: string
  /** A repository with one commit of these files; gives its folder. */
  repository(name: string, files: Readonly<Record<string, string>>): Promise<string>
  commit(folder: string, files: Readonly<Record<string, string>>): Promise<string>
}

export const startGitServer = async (t: Ends): Promise<GitServer> => {
  const root = await mkdtemp(join(tmpdir(), "svc-git-"))
  const token = "t0ken-of-the-repository"
  const server = createServer((request, response) => {
    const [, given] = Buffer.from(request.headers.authorization?.split(" ")[1] ?? "", "base64")
      .toString()
      .split(":")
    if (!request.url?.startsWith("/private") || given === token) return void serve(root, request, response)
    response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await rm(root, { recursive: true, force: true })
  })
  const commit: GitServer["commit"] = async (folder, files) => {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content)
    }
    git(folder, ["add", "-A"])
    git(folder, ["commit", "-q", "-m", "change"])
    return git(folder, ["rev-parse", "HEAD"])
  }
  return {
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token, commit },
    async repository(name, files) {
      const folder = join(root, name)
      await mkdir(folder)
      git(folder, ["init", "-q", "-b", "main"])
      await commit(folder, files)
      return folder
    },
  }
}
