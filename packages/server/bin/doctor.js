import { runProgram } from "./bundle.js"

await runProgram("doctor")
