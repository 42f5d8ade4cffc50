/** Programs of others that speak OAuth, told of the ways of tests. */
import * as oauth from "oauth4webapi"
import { watchedFetch } from "../../../testing/watch.ts"

/** Their own types say `body: undefined` where the platform's say that there is none. */
const fetchAsIs = watchedFetch as unknown as (url: string, options: object) => Promise<Response>

/** Options of oauth4webapi: servers of tests have no certificate, and every reply is held against the contract. */
export const insecure = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: fetchAsIs }
