import { createHmac, timingSafeEqual } from "node:crypto"
import type { DeriveSecret } from "../../../core/secrets/derive.ts"
import { isUuid } from "../../../kernel/id.ts"

/** A port of a workload. */
export interface PortOf {
  readonly id: string
  readonly port: number
}

/**
 * URLs of ports: a host name each, so that no two share an origin, nor one of them the platform's. The name carries what
 * it stands for and proves that the platform made it: nobody guesses one, and none is kept.
 */
export interface PortUrls {
  readonly scheme: "http" | "https"
  of(of: PortOf): string
  /** Whether a host name, with or without a port, is one of the domain. */
  claims(host: string | undefined): boolean
  /** What it stands for; undefined when the platform did not make it. */
  read(host: string): PortOf | undefined
}

/** `<port>-<id><proof>`: 96 bits of proof fill the 63 characters that a label may have. */
const LABEL = /^([1-9]\d{0,4})-([0-9a-f]{32})([0-9a-f]{24})$/
const PROOF_BYTES = 12

export const createPortUrls = (given: {
  /** Where the platform is reached; the URLs have its scheme and port. */
  readonly base: URL
  readonly domain: string
  readonly deriveSecret: DeriveSecret
}): PortUrls => {
  const { base, domain, deriveSecret } = given
  const key = deriveSecret("svc:port-urls", "names")
  const ending = `.${domain}`
  const nameOf = (host: string) => host.toLowerCase().replace(/:\d+$/, "")
  const proofOf = ({ id, port }: PortOf) =>
    createHmac("sha256", key).update(`${id}|${port}`).digest().subarray(0, PROOF_BYTES)

  const scheme = base.protocol === "https:" ? "https" : "http"
  return {
    scheme,
    of: of =>
      `${scheme}://${of.port}-${of.id.replaceAll("-", "")}${proofOf(of).toString("hex")}${ending}` +
      (base.port === "" ? "" : `:${base.port}`),
    claims: host => host !== undefined && host.length > ending.length && nameOf(host).endsWith(ending),
    read(host) {
      const [, port = "", hex = "", proof = ""] = LABEL.exec(nameOf(host).slice(0, -ending.length)) ?? []
      const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
      const of = { id, port: Number(port) }
      if (!isUuid(id)) return undefined
      return timingSafeEqual(proofOf(of), Buffer.from(proof, "hex")) ? of : undefined
    },
  }
}
