import { SESSION_COOKIES } from "../../kernel/stages/authenticate.ts"

const [SECURE_NAME, PLAIN_NAME] = SESSION_COOKIES

/**
 * The cookie that carries a session. A browser accepts the `__Host-` name, which no sister domain can set, over HTTPS
 * only; an installation on plain HTTP gets the plain one.
 */
export const createSessionCookie = (baseUrl: string) => {
  const isSecure = new URL(baseUrl).protocol === "https:"
  const name = isSecure ? SECURE_NAME : PLAIN_NAME
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`

  return {
    /** The `Set-Cookie` value that gives the browser the token. */
    carrying: (token: string, maxAgeSeconds: number): string =>
      `${name}=${token}; Max-Age=${maxAgeSeconds}; ${attributes}`,
    /** The `Set-Cookie` value that takes it away. */
    cleared: `${name}=; Max-Age=0; ${attributes}`,
  }
}
