export interface Servers {
  readonly servers: string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
}

/** Who logs in is the same at all servers of a cluster, so the first that names somebody counts. */
export const readServers = (text: string): Servers => {
  const urls = text.split(",").map(part => new URL(part.trim()))
  const named = urls.find(({ username }) => username !== "")
  const servers = urls.map(({ protocol, host }) => `${protocol}//${host}`)
  if (!named) return { servers }
  const user = decodeURIComponent(named.username)
  return named.password === ""
    ? { servers, token: user }
    : { servers, user, pass: decodeURIComponent(named.password) }
}
