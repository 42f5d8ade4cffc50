/** Where requests of S3 clients go. */
import type { IncomingMessage } from "node:http"
import { isSigned } from "../../../core/keys/sigv4.ts"

const ROOT = "/s3"

/**
 * Some clients take no path in their endpoint, so whatever is signed is S3's, under `/s3` or at the root. And most put
 * a slash behind a bucket. The signature is over what was sent.
 */
export const rerouteS3 = ({ url = "", headers }: IncomingMessage): string | undefined => {
  const at = url.indexOf("?")
  const path = at < 0 ? url : url.slice(0, at)
  const isUnderRoot = path === ROOT || path.startsWith(`${ROOT}/`)
  if (!isUnderRoot && !isSigned(url, headers.authorization)) return undefined
  const full = isUnderRoot ? path : ROOT + path
  const bare = full.replace(/^(\/s3(?:\/[^/]+)?)\/$/, "$1")
  return bare + url.slice(path.length)
}
