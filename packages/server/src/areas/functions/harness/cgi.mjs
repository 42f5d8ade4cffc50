/** Requests and replies as CGI programs know them (RFC 3875). */
import { Refusal } from "./channel.mjs"

/** What stands in another variable, and what libraries would take for the setting HTTP_PROXY (CVE-2016-5385). */
const ELSEWHERE = new Set(["content-type", "content-length", "proxy"])

/** The meta-variables of section 4.1. */
export const cgiEnv = ({ method, url, headers }, bodyBytes) => {
  const { pathname, search, hostname, port, protocol } = new URL(url)
  const given = new Map(headers)
  const own = headers
    .filter(([name]) => !ELSEWHERE.has(name))
    .map(([name, value]) => [`HTTP_${name.toUpperCase().replaceAll("-", "_")}`, value])
  return {
    ...Object.fromEntries(own),
    GATEWAY_INTERFACE: "CGI/1.1",
    SERVER_PROTOCOL: "HTTP/1.1",
    SERVER_SOFTWARE: "svc",
    SERVER_NAME: hostname,
    SERVER_PORT: port || (protocol === "https:" ? "443" : "80"),
    REQUEST_METHOD: method,
    REQUEST_URI: pathname + search,
    SCRIPT_NAME: "",
    PATH_INFO: decodePath(pathname),
    QUERY_STRING: search.slice(1),
    REMOTE_ADDR: given.get("x-forwarded-for") ?? "",
    CONTENT_LENGTH: bodyBytes > 0 ? String(bodyBytes) : "",
    CONTENT_TYPE: given.get("content-type") ?? "",
  }
}

/** As it came where a variable cannot hold what it says. */
const decodePath = path => {
  try {
    const decoded = decodeURIComponent(path)
    return decoded.includes("\0") ? path : decoded
  } catch {
    return path
  }
}

const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/
const STATUS = /^(\d{3})(?: .*)?$/
const END = /\r?\n\r?\n/

/** The reply of section 6: header fields, an empty line, and the body. */
export const cgiReply = output => {
  const text = output.toString("latin1")
  const end = END.exec(text)
  if (!end) throw new Refusal("InvalidResponse", "it wrote no CGI reply: header fields and an empty line")
  const headers = text
    .slice(0, end.index)
    .split(/\r?\n/)
    .map(line => {
      const found = HEADER.exec(line)
      if (!found) throw new Refusal("InvalidResponse", "a line of its CGI reply is no header field")
      return [found[1].toLowerCase(), found[2]]
    })
  const given = new Map(headers)
  const status = STATUS.exec(given.get("status") ?? (given.has("location") ? "302" : "200"))
  if (!status) throw new Refusal("InvalidResponse", "the Status of its CGI reply is no status")
  return {
    status: Number(status[1]),
    headers: headers.filter(([name]) => name !== "status"),
    body: output.subarray(end.index + end[0].length).toString("base64"),
  }
}
