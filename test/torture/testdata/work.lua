-- Works with most of what Lua has and prints what came out.
local function check(what, v) print(what, v) end
local t = {}
for i = 1, 400 do t[i] = (i * 7919) % 1009 end
table.sort(t); check("sorted", table.concat(t, ",", 1, 20))
table.sort(t, function(a, b) return a > b end); check("downwards", t[1] .. " " .. t[#t])
check("gsub", (("hello world from lua"):gsub("(%w+)", "<%1>")))
check("find", ("key = value # x"):find("^(%w+)%s*=%s*(%w+)"))
check("format", string.format("%5d|%-8s|%08.3f|%x|%q|%g|%a", 42, "ab", 3.14159, 255, "q\n\0z", 1e100, 0.5))
check("pack", (string.pack(">I4z", 77, "xyz"):gsub(".", function(c) return string.format("%02x", c:byte()) end)))
local co = coroutine.wrap(function(n) for i = 1, n do coroutine.yield(i * i) end return "end" end)
local s = {} for _ = 1, 12 do s[#s + 1] = tostring(co(11)) end
check("coroutine", table.concat(s, " "))
local ok, e = pcall(function() local x = nil; return x.y end); check("error", tostring(ok) .. " " .. tostring(e):match("attempt.*"))
local ok2, e2 = xpcall(function() error({code = 5}) end, function(m) return "handled " .. m.code end); check("xpcall", e2)
local mt = setmetatable({}, {__index = function(_, k) return k .. "!" end, __add = function() return "added" end, __call = function(_, a) return a * 2 end, __close = function() end})
check("meta", mt.foo .. " " .. (mt + 1) .. " " .. mt(21))
do local c <close> = mt end
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
check("fib", fib(15))
local weak = setmetatable({}, {__mode = "k"}) for i = 1, 200 do weak[{}] = i end collectgarbage()
local n = 0 for _ in pairs(weak) do n = n + 1 end check("weak", n)
check("utf8", utf8.char(228, 8364, 128512) .. utf8.len("äöü€"))
local f = load("local a, b = ...; return a // b, a % b, a >> 2, a ~ b, a ^ b, ~a") check("load", table.concat({f(77, 5)}, " "))
for _, m in ipairs{1e15, 2^53, -0.0, 1/3, math.maxinteger, math.mininteger} do check("number", m) end
local big = {} for i = 1, 300 do big["k" .. i] = i end local sum = 0 for k, v in pairs(big) do sum = sum + v + #k end check("sum", sum)
goto done
check("never", 0)
::done::
check("tostring", #tostring({}) > 5)
for w in ("one;two;;four"):gmatch("([^;]*)") do io.write("[", w, "]") end print()
check("os", os.time{year = 2020, month = 2, day = 29, hour = 12} .. os.date("!%Y-%m-%d", 86400 * 365))
check("select", select("#", table.unpack({1, nil, 3}, 1, 3)))
