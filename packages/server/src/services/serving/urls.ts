/** A host name that leads to a service, or to the revision that has a tag. */
export interface ServiceHost {
  readonly label: string
  readonly tag: string | undefined
}

/** URLs of services: a host name each, so that no two share an origin, nor one of them the platform's. */
export interface ServiceUrls {
  readonly scheme: "http" | "https"
  of(host: ServiceHost): string
  /** Whether a host name, with or without a port, is one of the domain. */
  claims(host: string | undefined): boolean
  /** What it stands for; undefined where it cannot be the name of a service. */
  read(host: string): ServiceHost | undefined
}

const TAG_END = "---"
const LABEL = /^(?:([a-z][a-z0-9-]{0,11})---)?([a-z][a-z0-9-]{1,50})$/

export const createServiceUrls = (base: URL, domain: string): ServiceUrls => {
  const ending = `.${domain}`
  const nameOf = (host: string) => host.toLowerCase().replace(/:\d+$/, "")
  const scheme = base.protocol === "https:" ? "https" : "http"
  return {
    scheme,
    of: ({ label, tag }) =>
      `${scheme}://${tag === undefined ? "" : `${tag}${TAG_END}`}${label}${ending}${base.port === "" ? "" : `:${base.port}`}`,
    claims: host => host !== undefined && host.length > ending.length && nameOf(host).endsWith(ending),
    read(host) {
      const [, tag, label] = LABEL.exec(nameOf(host).slice(0, -ending.length)) ?? []
      return label === undefined ? undefined : { label, tag }
    },
  }
}

/** The end of an id is random, and what makes the name unique. */
export const labelOf = ({ id, name }: { readonly id: string; readonly name: string }): string =>
  `${name}-${id.slice(-10)}`
