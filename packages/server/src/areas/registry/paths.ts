/** Where requests of registry clients go. They know no prefix, and names of repositories have slashes. */
import type { Reroute } from "../../kernel/edges/http.ts"
import { fault } from "../../kernel/fault.ts"
import { renderOciError } from "./errors.ts"

const ROOT = "/v1/registry/v2"
/** Where clients look for every registry. Without a slash behind it, it is the address of Neon's driver. */
const CLIENTS_ROOT = "/v2"

const below = (path: string, root: string): string | undefined =>
  path.startsWith(`${root}/`) ? path.slice(root.length) : undefined

/** The ends of the protocol's paths; what lies between the project and one of them is the repository. */
const OF_REPOSITORY =
  /^\/([^/]+)\/(.+?)\/(blobs\/uploads\/?|blobs\/uploads\/[^/]+|(?:blobs|manifests|referrers)\/[^/]+|tags\/list)$/

/** The path of the operation that is meant, with the repository as one part of it. */
export const rerouteRegistry: Reroute = ({ url = "" }) => {
  const [path = ""] = url.split("?", 1)
  const rest = below(path, ROOT) ?? below(path, CLIENTS_ROOT)
  if (rest === undefined) return undefined
  const query = url.slice(path.length)
  if (rest === "/") return `${ROOT}/${query}`
  if (rest === "/_catalog") return `${ROOT}/_catalog${query}`
  const [, project, repository = "", end = ""] = OF_REPOSITORY.exec(rest) ?? []
  if (project === undefined)
    return { refusal: fault("repository_not_found", { name: rest.slice(1, 101) }), render: renderOciError }
  const tail = end === "blobs/uploads" ? "blobs/uploads/" : end
  return `${ROOT}/${project}/${repository.replaceAll("/", "%2F")}/${tail}${query}`
}

/** The path as this client writes it: under the root that it used itself. */
export const pathFor = (target: string, path: string): string =>
  (below(target, CLIENTS_ROOT) === undefined ? ROOT : CLIENTS_ROOT) + path
