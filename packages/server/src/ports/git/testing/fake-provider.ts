/** Small servers that speak the documented APIs of the four providers, over one model of repositories. */
import { createVerify, type KeyObject } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { TestContext } from "node:test"
import type { GitProviderName } from "../port.ts"

export interface FakeRepository {
  readonly id: number
  readonly branches: Map<string, string>
}

export interface FakeInstallation {
  readonly login: string
  readonly repositories: string[]
  suspended: boolean
}

export interface FakeProvider {
  /** The API's address. */
  readonly url: string
  readonly repositories: Map<string, FakeRepository>
  readonly installations: Map<number, FakeInstallation>
  /** `method path` of every request, with its query. */
  readonly requests: string[]
  /** Bodies of requests for tokens. */
  readonly narrowings: unknown[]
  /** Answered before anything else, once each. */
  readonly answers: [status: number, headers: Record<string, string>][]
  token: string
  /** Verifies an App's JWTs. */
  appKey: KeyObject | undefined
  tokenSeconds: number
}

interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

const PER_PAGE = 2
const REPOSITORIES = /^\/(?:user\/repos|installation\/repositories|projects|repositories)$/
const REPOSITORY = /^\/(?:repos|repositories)\/([^/]+\/[^/]+)$|^\/projects\/([^/]+)$/
const BRANCHES =
  /^\/(?:repos|repositories)\/([^/]+\/[^/]+)\/(?:git\/matching-refs\/heads\/|branches|refs\/branches)$|^\/projects\/([^/]+)\/repository\/branches$/

const repositoryShapes: Record<GitProviderName, (name: string, id: number) => object> = {
  github: (name, id) => ({
    id,
    full_name: name,
    private: true,
    default_branch: "main",
    clone_url: `https://git.test/${name}.git`,
  }),
  gitea: (name, id) => ({
    id,
    full_name: name,
    private: true,
    default_branch: "main",
    clone_url: `https://git.test/${name}.git`,
  }),
  gitlab: (name, id) => ({
    id,
    path_with_namespace: name,
    visibility: "private",
    default_branch: "main",
    http_url_to_repo: `https://git.test/${name}.git`,
  }),
  bitbucket: (name, id) => ({
    uuid: `{${id}}`,
    full_name: name,
    is_private: true,
    mainbranch: { name: "main" },
    links: {
      clone: [
        { name: "ssh", href: "git@git.test" },
        { name: "https", href: `https://git.test/${name}.git` },
      ],
    },
  }),
}

const branchShapes: Record<GitProviderName, (name: string, commit: string) => object> = {
  github: (name, sha) => ({ ref: `refs/heads/${name}`, object: { type: "commit", sha } }),
  gitea: (name, id) => ({ name, commit: { id } }),
  gitlab: (name, id) => ({ name, commit: { id } }),
  bitbucket: (name, hash) => ({ name, target: { hash } }),
}

/** A page of items, in the provider's way of saying where the next one is. */
const pageOf = (
  provider: GitProviderName,
  url: URL,
  base: string,
  items: readonly object[],
  isWhole: boolean,
): Reply => {
  const page = Number(url.searchParams.get("page") ?? 1)
  const shown = isWhole ? items : items.slice((page - 1) * PER_PAGE, page * PER_PAGE)
  const next = new URL(`${base}${url.pathname}${url.search}`)
  next.searchParams.set("page", String(page + 1))
  const hasNext = !isWhole && items.length > page * PER_PAGE
  if (provider === "bitbucket") return { body: { values: shown, ...(hasNext && { next: next.href }) } }
  const isInstallation = url.pathname.startsWith("/installation")
  return {
    headers: hasNext ? { link: `<${next.href}>; rel="next", <${next.href}>; rel="last"` } : {},
    body: isInstallation ? { total_count: items.length, repositories: shown } : shown,
  }
}

export const startFakeProvider = async (t: TestContext, provider: GitProviderName): Promise<FakeProvider> => {
  let base = ""
  const installationTokens = new Map<string, number>()

  const fake = {
    url: "",
    repositories: new Map<string, FakeRepository>(),
    installations: new Map<number, FakeInstallation>(),
    requests: [] as string[],
    narrowings: [] as unknown[],
    answers: [] as [number, Record<string, string>][],
    ...{ token: "a-token", appKey: undefined as KeyObject | undefined, tokenSeconds: 3_600 },
  }

  const appIs = (bearer: string): boolean => {
    const [head, claims, signature = ""] = bearer.split(".")
    if (!fake.appKey || claims === undefined) return false
    const { exp, iat, iss } = JSON.parse(Buffer.from(claims, "base64url").toString())
    const isSigned = createVerify("RSA-SHA256")
      .update(`${head}.${claims}`)
      .verify(fake.appKey, signature, "base64url")
    return isSigned && iss === "123" && exp - iat <= 600
  }

  const asApp = (method: string, path: string, narrowing: unknown): Reply => {
    const [, id = "", isToken] = /^\/app\/installations\/(\d+)(\/access_tokens)?$/.exec(path) ?? []
    const installation = fake.installations.get(Number(id))
    if (!installation) return { status: 404 }
    if (!isToken) {
      const suspended_at = installation.suspended ? "2026-01-01T00:00:00Z" : null
      const account = { login: installation.login, type: "Organization" }
      return {
        body: {
          id: Number(id),
          account,
          repository_selection: "selected",
          permissions: { contents: "read" },
          suspended_at,
          html_url: "https://github.test/i",
        },
      }
    }
    if (method !== "POST" || installation.suspended) return { status: 403 }
    fake.narrowings.push(narrowing)
    const { permissions = { contents: "read", metadata: "read" } } = narrowing as { permissions?: object }
    if ("administration" in permissions) return { status: 422 }
    // As long as GitHub's new ones.
    const token = `ghs_123_${"x".repeat(400)}${installationTokens.size}`
    installationTokens.set(token, Number(id))
    const expires_at = new Date(Date.now() + fake.tokenSeconds * 1_000).toISOString()
    return { status: 201, body: { token, expires_at, permissions, repository_selection: "selected" } }
  }

  /** What a token may see; undefined for one that is wrong. */
  const visible = (authorization: string): readonly string[] | undefined => {
    const [scheme = "", value = ""] = authorization.split(" ")
    const token = scheme === "Basic" ? Buffer.from(value, "base64").toString().split(":")[1] : value
    if (token === fake.token) return [...fake.repositories.keys()]
    const installation = installationTokens.get(value)
    return installation === undefined ? undefined : fake.installations.get(installation)?.repositories
  }

  const answerTo = (request: IncomingMessage, body: string): Reply => {
    const { method = "", headers } = request
    const url = new URL(request.url ?? "", base)
    const authorization = headers.authorization ?? ""
    if (url.pathname.startsWith("/app/")) {
      if (!appIs(authorization.replace("Bearer ", ""))) return { status: 401 }
      return asApp(method, url.pathname, body === "" ? undefined : JSON.parse(body))
    }
    const names = visible(authorization)
    if (!names) return { status: 401, body: { message: "Bad credentials" } }
    if (REPOSITORIES.test(url.pathname)) {
      const items = names.map(name => repositoryShapes[provider](name, fake.repositories.get(name)?.id ?? 0))
      return pageOf(provider, url, base, items, false)
    }
    const [, direct, encoded] = REPOSITORY.exec(url.pathname) ?? BRANCHES.exec(url.pathname) ?? []
    const name = decodeURIComponent(direct ?? encoded ?? "")
    const repository = names.includes(name) ? fake.repositories.get(name) : undefined
    if (!repository) return { status: 404 }
    if (REPOSITORY.test(url.pathname)) return { body: repositoryShapes[provider](name, repository.id) }
    const items = [...repository.branches].map(([branch, commit]) => branchShapes[provider](branch, commit))
    const etag = `W/"${JSON.stringify(items).length}-${[...repository.branches.values()].join().slice(-8)}"`
    if (headers["if-none-match"] === etag) return { status: 304 }
    const reply = pageOf(provider, url, base, items, provider === "github")
    return { ...reply, headers: { ...reply.headers, etag } }
  }

  const write = (response: ServerResponse, { status = 200, headers = {}, body = {} }: Reply) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(status === 304 ? "" : JSON.stringify(body))
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    fake.requests.push(`${request.method} ${request.url}`)
    const [status, headers] = fake.answers.shift() ?? []
    if (status !== undefined) write(response, { status, headers: headers ?? {} })
    else write(response, answerTo(request, Buffer.concat(chunks).toString()))
  })
  // Longer than any client keeps a connection: none is closed while a request goes out on it.
  server.keepAliveTimeout = 60_000
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  fake.url = base
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  })
  return fake
}
