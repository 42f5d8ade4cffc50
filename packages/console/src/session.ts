/** Who is signed in, where, and what that person may see. */
import { problemOf, type Received, send } from "./calls.ts"
import { setQuery } from "./router.ts"
import { createStore, remember, remembered } from "./store.ts"

export interface Named {
  readonly id: string
  readonly name: string
}

export interface Project extends Named {
  readonly slug?: string
}

export interface Session {
  readonly user: { readonly id: string; readonly name: string; readonly email: string }
  readonly organization: Named & { readonly plan?: string }
  readonly organizations: readonly Named[]
  readonly projects: readonly Project[]
  readonly scopes: readonly string[]
}

/** `undefined` while it is not known, `null` for nobody. */
export const session = createStore<Session | null | undefined>(undefined)

const get = async (path: string, organization?: string): Promise<Received> =>
  await send(
    { method: "GET", path, headers: organization ? { "x-svc-organization": organization } : {} },
    { quiet: true },
  )

const dataOf = <Shape>({ json }: Received): Shape => (json as { data: Shape }).data

interface Me {
  readonly user: Session["user"] | null
  readonly organization: Session["organization"]
  readonly scopes: readonly string[]
}

const meIn = async (organization: string | null) => {
  const named = await get("/v1/me", organization ?? undefined)
  // The person has left the organization that this browser remembers.
  return named.status === 403 && organization !== null ? await get("/v1/me") : named
}

/** Asks who is signed in; throws where the platform does not answer as it should. */
export const loadSession = async (): Promise<void> => {
  const me = await meIn(remembered("organization"))
  if (me.status === 401) return session.set(null)
  const problem = problemOf(me)
  if (problem && problem.code !== "role_insufficient") throw new Error(`${problem.error} (${problem.code})`)
  const known = problem ? undefined : dataOf<Me>(me)
  if (!known?.user) return session.set(null)
  const { id } = known.organization
  const [organizations, projects] = await Promise.all([
    get("/v1/organizations?limit=200"),
    get("/v1/projects?limit=200", id),
  ])
  session.set({
    user: known.user,
    organization: known.organization,
    organizations: dataOf<Named[]>(organizations) ?? [],
    projects: dataOf<Project[]>(projects) ?? [],
    scopes: known.scopes,
  })
}

export const chooseOrganization = (id: string): void => {
  remember("organization", id)
  setQuery({ in: null })
  void loadSession()
}

export const chooseProject = (id: string): void => {
  remember("project", id)
  setQuery({ in: id })
}

/** The project of the address, else the one last chosen, else the first. */
export const projectIn = ({ projects }: Session, query: URLSearchParams): Project | undefined => {
  const find = (id: string | null) => projects.find(project => project.id === id)
  return find(query.get("in")) ?? find(remembered("project")) ?? projects[0]
}

const post = async (path: string, body: object): Promise<Received> =>
  await send(
    { method: "POST", path, headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
    { quiet: true },
  )

export const signIn = (email: string, password: string): Promise<Received> =>
  post("/v1/account/login", { email, password })

/** Names a sign-in that waits for a second factor. */
export const waitingToken = ({ json }: Received): string | undefined =>
  (json as { data?: { mfa_token?: string } } | undefined)?.data?.mfa_token

export const giveCode = (mfa_token: string, code: string): Promise<Received> =>
  post("/v1/account/mfa/challenge", { mfa_token, code })

/** `code`: of the second factor, for those who have one. */
export const proveIdentity = (password: string, code?: string): Promise<Received> =>
  post("/v1/account/reauthenticate", { password, ...(code && { code }) })

const channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("svc.session")
if (channel) channel.onmessage = () => session.set(null)

/** Ends the session in every tab. */
export const signOut = async (): Promise<void> => {
  await send({ method: "POST", path: "/v1/account/logout", headers: {} }, { quiet: true })
  channel?.postMessage("ended")
  session.set(null)
}
