/** Names of images as container tools write them (github.com/distribution/reference, its grammar). */

export interface Reference {
  /** Host and port, as in the URL. */
  readonly registry: string
  readonly repository: string
  readonly tag: string
  /** Wins over the tag. */
  readonly digest: string | undefined
}

const COMPONENT = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*"
const REPOSITORY = new RegExp(`^${COMPONENT}(?:/${COMPONENT})*$`)
const DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9])"
const REGISTRY = new RegExp(`^(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]{1,5})?$`)
const TAG = /^\w[\w.-]{0,127}$/
export const DIGEST = /^sha256:[a-f0-9]{64}$/
const REPOSITORY_LENGTH_MAX = 255
const REGISTRY_LENGTH_MAX = 255

export const DOCKER_HUB = "docker.io"

const splitRegistry = (name: string): readonly [registry: string, repository: string] => {
  const at = name.indexOf("/")
  const first = at < 0 ? "" : name.slice(0, at)
  if (first.includes(".") || first.includes(":") || first === "localhost") return [first, name.slice(at + 1)]
  return [DOCKER_HUB, name]
}

/** Undefined for what is no name of an image. */
export const parseReference = (text: string): Reference | undefined => {
  const [, name = "", tag = "latest", digest] = /^([^@]*?)(?::([^:/@]*))?(?:@(.*))?$/s.exec(text) ?? []
  const [registry, path] = splitRegistry(name)
  const isHub = registry === DOCKER_HUB || registry === "index.docker.io"
  const repository = isHub && !path.includes("/") ? `library/${path}` : path
  const isWrong =
    !REGISTRY.test(registry) ||
    registry.length > REGISTRY_LENGTH_MAX ||
    !REPOSITORY.test(repository) ||
    repository.length > REPOSITORY_LENGTH_MAX ||
    !TAG.test(tag) ||
    (digest !== undefined && !DIGEST.test(digest))
  if (isWrong) return undefined
  return { registry: isHub ? DOCKER_HUB : registry.toLowerCase(), repository, tag, digest }
}

/** In full; two texts that name the same give the same. */
export const formatReference = ({ registry, repository, tag, digest }: Reference): string =>
  `${registry}/${repository}${digest === undefined ? `:${tag}` : `@${digest}`}`

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::|$)/

/** Where its registry answers: in plain HTTP on this machine alone, as container tools have it. */
export const registryUrl = (registry: string): string => {
  if (registry === DOCKER_HUB) return "https://registry-1.docker.io"
  return `${LOOPBACK.test(registry) ? "http" : "https"}://${registry}`
}
