-- Layouts, enumerations and rows above are data; what follows walks through them and knows no field by its place.

local MAJOR, FRAME_MIN, ICRC_SIZE, FCS_SIZE = "scalefab", 64, LAYOUTS.icrc.size, LAYOUTS.fcs.size
local UNPADDED_MIN, TAG_AT, HEADERS = FRAME_MIN - FCS_SIZE, CONST.vlan_offset, CONST.header_bytes
local BAD, GOOD, UNVERIFIED, ABSENT, POISONED = 0, 1, 2, 3, 4
local STATES = { [BAD] = "Bad", [GOOD] = "Good", [UNVERIFIED] = "Unverified", [ABSENT] = "Not present", [POISONED] = "Poisoned" }

local scalefab = Proto(MAJOR, "EthLink open profile")
local phy = Proto("scalefab_phy", "EthLink open profile, line")
local lldp = Proto("scalefab_lldp", "EthLink open profile, LLDP TLV")

scalefab.prefs.data_ethertype = Pref.uint("Data EtherType", CONST.ethertype_data, "of RH op DATA, ACK, NACK")
scalefab.prefs.control_ethertype = Pref.uint("Control EtherType", CONST.ethertype_control, "of RH op CONTROL and of link frames")
scalefab.prefs.frame_max = Pref.uint("Largest frame", CONST.frame_max, "bytes from OEFH to FCS, without a tag")
scalefab.prefs.slap_safe = Pref.bool("slap_safe", false, "dst_id and src_id are carried as locally administered addresses")
scalefab.prefs.fcs = Pref.enum("FCS at the end", 0, "whether captured frames end with their FCS", {
  { 1, "Find out", 0 }, { 2, "Always", 1 }, { 3, "Never", 2 },
}, false)

-- Expert information ------------------------------------------------------------------------------------------------------

local EXPERTS = {
  icrc = ProtoExpert.new("scalefab.expert.icrc", "ICRC is bad", expert.group.CHECKSUM, expert.severity.ERROR),
  fcs = ProtoExpert.new("scalefab.expert.fcs", "FCS is bad", expert.group.CHECKSUM, expert.severity.ERROR),
  poisoned = ProtoExpert.new("scalefab.expert.poisoned", "Frame is poisoned", expert.group.CHECKSUM, expert.severity.WARN),
  length = ProtoExpert.new("scalefab.expert.length", "Length is wrong", expert.group.MALFORMED, expert.severity.ERROR),
  opcode = ProtoExpert.new("scalefab.expert.opcode", "Opcode is unknown", expert.group.PROTOCOL, expert.severity.ERROR),
  type = ProtoExpert.new("scalefab.expert.type", "Type is unknown", expert.group.PROTOCOL, expert.severity.ERROR),
  constant = ProtoExpert.new("scalefab.expert.constant", "Value is not the fixed one", expert.group.PROTOCOL, expert.severity.ERROR),
  reserved = ProtoExpert.new("scalefab.expert.reserved", "Reserved bits are not zero", expert.group.PROTOCOL, expert.severity.NOTE),
  mismatch = ProtoExpert.new("scalefab.expert.mismatch", "Fields contradict", expert.group.PROTOCOL, expert.severity.ERROR),
}
scalefab.experts = EXPERTS

-- Fields ------------------------------------------------------------------------------------------------------------------

local FIELDS, ALL = {}, {} -- FIELDS[layout][name]

local function keep(prefix, name, make, ...)
  FIELDS[prefix] = FIELDS[prefix] or {}
  if FIELDS[prefix][name] then return end -- two layouts share a beginning
  local field = make(MAJOR .. "." .. prefix .. (name ~= "" and "." .. name or ""), ...)
  FIELDS[prefix][name] = field
  ALL[#ALL + 1] = field
end

local function span(f) -- first byte and bytes that hold a field
  local first = math.floor(f.bit / 8)
  return first, math.floor((f.bit + f.width - 1) / 8) - first + 1
end

local function define(prefix, f)
  local form = f.hex and base.HEX or base.DEC
  local _, bytes = span(f)
  if f.width > 64 then
    keep(prefix, f.name, ProtoField.bytes, f.title, nil, f.text)
  elseif f.width > 32 then
    keep(prefix, f.name, ProtoField.uint64, f.title, form, f.names, nil, f.text)
  elseif f.signed then
    keep(prefix, f.name, ProtoField.int32, f.title, form, f.names, nil, f.text)
  else
    f.masked = bytes <= 4 and f.bias == 0
    local mask = nil
    if f.masked and f.width < 8 * bytes then
      mask = (2 ^ f.width - 1) * 2 ^ (8 * bytes - f.bit % 8 - f.width)
    end
    local makers = { ProtoField.uint8, ProtoField.uint16, ProtoField.uint24, ProtoField.uint32 }
    keep(prefix, f.name, makers[f.masked and bytes or 4], f.title, form, f.names, mask, f.text)
  end
end

for _, layout in pairs(LAYOUTS) do
  keep(layout.prefix, "", ProtoField.none, layout.title)
  for _, f in ipairs(layout.fields) do
    define(layout.prefix, f)
    for _, part in ipairs(f.parts or {}) do define(layout.prefix, part) end
  end
  for _, join in ipairs(layout.joins or {}) do
    keep(layout.prefix, join.name, ProtoField.uint32, join.title, base.DEC, nil, nil, join.text)
  end
  if layout.element then define(layout.prefix, layout.element) end
end
for _, name in ipairs(PARTS) do keep("body", name, ProtoField.bytes, name, nil, "part of a body") end
keep("body", "pad", ProtoField.bytes, "pad", nil, "to the next 8 B")
keep("oefh", "dst", ProtoField.uint16, "destination endpoint", base.DEC, nil, nil, "plain id of dst_id")
keep("oefh", "src", ProtoField.uint16, "source endpoint", base.DEC, nil, nil, "plain id of src_id")
keep("oefh", "path_id", ProtoField.uint16, "path id", base.DEC, nil, nil, "first ten bits of entropy")
keep("icrc", "status", ProtoField.uint8, "ICRC status", base.DEC, STATES)
keep("fcs", "status", ProtoField.uint8, "FCS status", base.DEC, STATES)
keep("frame", "pad", ProtoField.bytes, "pad", nil, "between ICRC and FCS, ignored")
scalefab.fields = ALL

-- Reading -----------------------------------------------------------------------------------------------------------------

local function find(layout, name)
  for _, f in ipairs(LAYOUTS[layout].fields) do
    if f.name == name then return f end
  end
  error("no field " .. layout .. "." .. name)
end

local function read(tvb, at, f)
  local first, bytes = span(f)
  local range = tvb:range(at + first, bytes)
  local value = bytes <= 8 and range:bitfield(f.bit % 8, f.width) or nil
  if value and f.signed and value >= 2 ^ (f.width - 1) then value = value - 2 ^ f.width end
  return value, range
end

local function value_of(tvb, at, layout, name)
  return (read(tvb, at, find(layout, name)))
end

local function add_field(tree, tvb, at, layout, f, shown)
  local value, range = read(tvb, at, f)
  local field = FIELDS[LAYOUTS[layout].prefix][f.name]
  local item
  if LAYOUTS[layout].little then
    item = tree:add_le(field, range)
  elseif f.width > 64 or f.masked then
    item = tree:add(field, range)
  else
    item = tree:add(field, range, shown or (f.width > 32 and value or value + f.bias))
  end
  local plain = f.width <= 32 and value or nil
  if f.constant then
    local right = f.width <= 32 and plain == f.constant
    if f.width > 32 then right = tostring(range:bytes()):lower() == f.constant_hex end
    if not right then item:add_proto_expert_info(EXPERTS.constant, f.title .. " is not " .. f.constant_hex) end
  end
  if f.reserved then
    local zero = tostring(range:bytes()):match("^0+$") ~= nil
    if plain then zero = plain == 0 end
    if not zero then item:add_proto_expert_info(EXPERTS.reserved) end
  end
  for _, part in ipairs(f.parts or {}) do add_field(item, tvb, at, layout, part) end
  return value, item
end

-- Adds a whole layout, `override` shown instead of what stands there. Returns the subtree, and values and items by name.
local function add_layout(tree, tvb, at, layout, override)
  local data = LAYOUTS[layout]
  local sub = tree:add(FIELDS[data.prefix][""], tvb:range(at, data.size))
  local values, items = {}, {}
  for _, f in ipairs(data.fields) do
    values[f.name], items[f.name] = add_field(sub, tvb, at, layout, f, override and override[f.name])
  end
  for _, join in ipairs(data.joins or {}) do
    local number = 0
    for _, piece in ipairs(join.pieces) do number = number * 2 ^ find(layout, piece).width + values[piece] end
    local item = sub:add(FIELDS[data.prefix][join.name], tvb:range(at, data.size), number)
    item:set_generated()
    values[join.name], items[join.name] = number, item
  end
  return sub, values, items
end

-- CRC-32 of IEEE 802.3 --------------------------------------------------------------------------------------------------

local CRC = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    crc = bit.band(crc, 1) == 1 and bit.bxor(bit.rshift(crc, 1), 0xEDB88320) or bit.rshift(crc, 1)
  end
  CRC[byte] = crc
end

local function crc_more(crc, text, masks)
  for i = 1, #text do
    local byte = text:byte(i)
    local mask = masks and masks[i - 1]
    if mask then byte = bit.bor(byte, mask) end
    crc = bit.bxor(bit.rshift(crc, 8), CRC[bit.band(bit.bxor(crc, byte), 0xFF)])
  end
  return crc
end

local function crc32(text, masks) return bit.bnot(crc_more(-1, text, masks)) end

local function raw(tvb, at, size) return size > 0 and tvb:raw(at, size) or "" end

-- FCS ---------------------------------------------------------------------------------------------------------------------

local function whole(tvb) return tvb:len() == tvb:reported_len() end

-- State of the FCS, and the bytes before it. `expected` = bytes before FCS if the frame says, else nil.
local function fcs_state(tvb, expected, mode)
  local size = tvb:len()
  if not whole(tvb) then return UNVERIFIED, size end
  if mode == 2 or size <= FCS_SIZE then return ABSENT, size end
  local found = bit.tobit(tvb:range(size - FCS_SIZE, FCS_SIZE):le_uint())
  local right = crc32(raw(tvb, 0, size - FCS_SIZE))
  if found == right then return GOOD, size - FCS_SIZE end
  if found == bit.bnot(right) then return POISONED, size - FCS_SIZE end
  if mode == 0 and (size < FRAME_MIN or size == expected) then return ABSENT, size end
  return BAD, size - FCS_SIZE
end

local function add_fcs(tree, tvb, state, at)
  if state ~= ABSENT and state ~= UNVERIFIED then
    local sub = add_layout(tree, tvb, at, "fcs")
    sub:add(FIELDS.fcs.status, tvb:range(at, FCS_SIZE), state):set_generated()
    if state == BAD then sub:add_proto_expert_info(EXPERTS.fcs) end
    if state == POISONED then sub:add_proto_expert_info(EXPERTS.poisoned) end
  else
    tree:add(FIELDS.fcs.status, tvb:range(0, 0), state):set_generated()
  end
end

-- Transactions ------------------------------------------------------------------------------------------------------------

local WHEN = {
  ALWAYS = function() return true end,
  LAST = function(th) return th.last == 1 end,
  OK = function(th) return th.kind == 0 end,
  COMPARE_SWAP = function(th) return math.floor(th.kind / 16) == CONST.compare_swap end,
  ONE_OPERAND = function(th) return math.floor(th.kind / 16) ~= CONST.compare_swap end,
}
local SIZE = {
  LENGTH = function(th) return th.length end,
  MASK = function(th) return math.floor((th.length + 7) / 8) end,
  EIGHT = function() return 8 end,
}

-- Adds one transaction; returns the byte behind it, nil where the list cannot be followed any more.
local function add_transaction(tree, tvb, at, ending, words)
  local number = value_of(tvb, at, "th_response", "opcode")
  local row = OPCODES[number]
  local layout = row and row.layout or "th_response"
  if at + LAYOUTS[layout].size > ending then
    tree:add_proto_expert_info(EXPERTS.length, "TH does not end before ICRC")
    return nil
  end
  local th = {}
  for _, f in ipairs(LAYOUTS[layout].fields) do
    if f.width <= 32 then th[f.name] = read(tvb, at, f) + f.bias end
  end
  if row and row.no_length then th.length = th.length - 1 end -- 0 on the wire is none here
  local sub, _, items = add_layout(tree, tvb, at, layout, { length = th.length })
  if not row then
    items.opcode:add_proto_expert_info(EXPERTS.opcode, "Opcode " .. number .. " is unknown")
    words[#words + 1] = "opcode " .. number .. "?"
    return nil
  end
  sub:append_text(": " .. row.name)
  words[#words + 1] = row.name .. (th.length > 0 and " " .. th.length .. " B" or "") .. string.format(" tag 0x%x", th.tag)
  if row.address_layout then add_layout(items.address, tvb, at + LAYOUTS.th_response.size, row.address_layout) end
  if row.kind == "STATUS" and STATUS[th.kind] then items.kind:append_text(" (" .. STATUS[th.kind] .. ")") end
  if row.kind == "ATOMIC" or row.kind == "REDUCTION" then
    local op, element = ATOMIC_OPS[math.floor(th.kind / 16)], ELEMENTS[th.kind % 16]
    items.kind:append_text(" (" .. (op or "?") .. " " .. (element or "?") .. ")")
  end
  local used = at + LAYOUTS[layout].size
  for _, part in ipairs(row.body) do
    if WHEN[part.when](th) then
      local size = SIZE[part.size](th)
      local room = size + (-size) % 8
      if used + room > ending then
        items.length:add_proto_expert_info(EXPERTS.length, row.name .. " wants " .. size .. " B of " .. part.name .. ", ICRC comes before")
        return nil
      end
      if part.layout then
        add_layout(sub, tvb, used, part.layout)
      else
        sub:add(FIELDS.body[part.name], tvb:range(used, size))
      end
      if room > size then sub:add(FIELDS.body.pad, tvb:range(used + size, room - size)) end
      used = used + room
    end
  end
  sub:set_len(used - at)
  return used
end

-- CONTROL and link frames, ordered sets, preambles --------------------------------------------------------------------------

local function brief(data, values) -- its first fields, for one line
  local text, count = "", 0
  for _, f in ipairs(data.fields) do
    if not f.constant and not f.reserved and f.name ~= "type" and f.name ~= "ethertype" and f.width <= 32 and count < 5 then
      text, count = text .. " " .. f.name .. " " .. values[f.name], count + 1
    end
  end
  return text
end

local function add_row(tree, tvb, at, ending, forms, type_layout, words)
  local number = value_of(tvb, at, type_layout, "type")
  local row = forms[number]
  if not row then
    tree:add_proto_expert_info(EXPERTS.type, "Type " .. number .. " is unknown")
    words[#words + 1] = "type " .. number .. "?"
    return nil
  end
  local data = LAYOUTS[row.layout]
  words[#words + 1] = row.name
  if at + data.size > ending then
    tree:add_proto_expert_info(EXPERTS.length, row.name .. " has " .. data.size .. " B, " .. (ending - at) .. " are there")
    return nil
  end
  local sub, values = add_layout(tree, tvb, at, row.layout)
  sub:append_text(": " .. row.name)
  words[#words] = row.name .. brief(data, values)
  return at + data.size, row.layout, values, sub
end

local function add_set(tree, tvb, at, ending, words)
  if ending - at < CONST.set_bytes then
    tree:add_proto_expert_info(EXPERTS.length, "An ordered set has 8 B")
    return
  end
  add_row(tree, tvb, at, ending, ORDERED_SETS, CONST.set_layout, words)
end

local function add_elements(sub, tvb, at, ending, layout, values, each)
  local data = LAYOUTS[layout]
  local bytes = data.element.width / 8
  for _ = 1, values[data.count] do
    if at + bytes > ending then
      sub:add_proto_expert_info(EXPERTS.length, data.title .. " has " .. values[data.count] .. " elements, fewer are there")
      return at
    end
    if not each or not each(sub, at) then add_field(sub, tvb, at, layout, data.element) end
    at = at + bytes
  end
  return at
end

local function add_preamble(tree, tvb, at, words)
  local mark = value_of(tvb, at, "preamble_llr", "mark")
  local with_seq = mark == find("preamble_llr", "mark").constant
  local _, values = add_layout(tree, tvb, at, with_seq and "preamble_llr" or "preamble")
  if values.seq then words[#words + 1] = "seq " .. values.seq end
end

local function columns(pinfo, protocol, words)
  pinfo.cols.protocol = protocol
  pinfo.cols.info = table.concat(words, ", ")
end

local function dissect_link(tvb, pinfo, tree, mode)
  local words = {}
  local state, before = fcs_state(tvb, nil, mode)
  local top = tree:add(scalefab, tvb:range(0, tvb:len()), "EthLink link frame")
  local used, layout, values, sub = add_row(top, tvb, 0, before, LINK_FRAMES, CONST.link_layout, words)
  if used and LAYOUTS[layout].element then
    used = add_elements(sub, tvb, used, before, layout, values, LAYOUTS[layout].element.name == "set" and function(inner, at)
      add_set(inner, tvb, at, before, words)
      return true
    end)
  end
  if used and before > used then top:add(FIELDS.frame.pad, tvb:range(used, before - used)) end
  add_fcs(top, tvb, state, before)
  columns(pinfo, "EthLink", words)
end

-- Frames ------------------------------------------------------------------------------------------------------------------

local function plain_id(word)
  if not scalefab.prefs.slap_safe then return word end
  return bit.band(bit.rshift(word, 12), 3) * 256 + bit.band(word, 0xFF)
end

local function add_icrc(tree, tvb, covered, shift)
  local at = covered + shift
  local text = raw(tvb, 0, TAG_AT) .. raw(tvb, TAG_AT + shift, covered - TAG_AT)
  local found = bit.tobit(tvb:range(at, ICRC_SIZE):le_uint())
  local good = crc32(text, MASKS) == found
  local sub = add_layout(tree, tvb, at, "icrc")
  sub:add(FIELDS.icrc.status, tvb:range(at, ICRC_SIZE), good and GOOD or BAD):set_generated()
  if not good then sub:add_proto_expert_info(EXPERTS.icrc) end
end

-- OEFH, with the tag that may stand before its EtherType; a tagged one is shown as 12 B, tag, EtherType.
local function add_oefh(tree, tvb, shift)
  local sub = tree:add(FIELDS.oefh[""], tvb:range(0, LAYOUTS.oefh.size + shift))
  local values, items = {}, {}
  for _, f in ipairs(LAYOUTS.oefh.fields) do
    if f.bit == 8 * TAG_AT and shift > 0 then add_layout(sub, tvb, TAG_AT, "vlan") end
    values[f.name], items[f.name] = add_field(sub, tvb, f.bit >= 8 * TAG_AT and shift or 0, "oefh", f)
  end
  for _, name in ipairs({ "dst", "src" }) do
    local first = span(find("oefh", name .. "_id"))
    values[name] = plain_id(values[name .. "_id"])
    sub:add(FIELDS.oefh[name], tvb:range(first, 2), values[name]):set_generated()
  end
  local first = span(find("oefh", "entropy"))
  sub:add(FIELDS.oefh.path_id, tvb:range(first, 2), bit.rshift(values.entropy, 6)):set_generated()
  return values, items
end

local function dissect_frame(tvb, pinfo, tree, mode)
  local size = tvb:len()
  local words = {}
  local tagged = tvb:range(TAG_AT, 2):uint() == CONST.tpid
  local shift = tagged and LAYOUTS.vlan.size or 0
  local top = tree:add(scalefab, tvb:range(0, size))
  if size < HEADERS + shift then
    top:add_proto_expert_info(EXPERTS.length, "The headers have " .. HEADERS + shift .. " B, " .. size .. " are there")
    columns(pinfo, "EthLink", { "cut short" })
    return
  end
  local total = value_of(tvb, 0, "oefh", "total_length")
  local least = math.max(total, UNPADDED_MIN) + shift
  local carried = total + shift
  if size >= carried + 8 and tvb:range(carried, 1):uint() == CONST.start then least = math.max(total + 8, UNPADDED_MIN) + shift end
  local state, before = fcs_state(tvb, least, mode)
  local oefh, items = add_oefh(top, tvb, shift)
  local _, net = add_layout(top, tvb, LAYOUTS.oefh.size + shift, "net")
  local _, rh, rh_items = add_layout(top, tvb, LAYOUTS.oefh.size + LAYOUTS.net.size + shift, "rh")
  words[1] = oefh.src .. " → " .. oefh.dst .. " VC " .. rh.vc
  words[2] = (RH_OPS[rh.op] or "?") .. (rh.op == CONST.op_data and " PSN " .. rh.psn or "")
  if rh.ack == 1 then words[#words + 1] = "ack " .. rh.ack_psn .. " of VC " .. rh.ack_vc end
  pinfo.src, pinfo.dst = pinfo.net_src, pinfo.net_dst -- no address at all: those of Ethernet are not there
  pinfo.cols.src = tostring(oefh.src)
  pinfo.cols.dst = tostring(oefh.dst)
  local data_type = oefh.ethertype == scalefab.prefs.data_ethertype
  if data_type == (rh.op == CONST.op_control) then rh_items.op:add_proto_expert_info(EXPERTS.mismatch, "RH op under the other EtherType") end
  if data_type and rh.src ~= oefh.src then rh_items.src:add_proto_expert_info(EXPERTS.mismatch, "RH src is not src_id") end
  local legal = before + FCS_SIZE - shift
  if whole(tvb) and (legal < FRAME_MIN or legal > scalefab.prefs.frame_max) then
    top:add_proto_expert_info(EXPERTS.length, "Frame of " .. legal .. " B to FCS, not " .. FRAME_MIN .. " .. " .. scalefab.prefs.frame_max)
  end
  if total < HEADERS + ICRC_SIZE or total % 8 ~= 4 or carried > before and whole(tvb) then
    items.total_length:add_proto_expert_info(EXPERTS.length, "total_length " .. total .. " of " .. before - shift .. " B before FCS")
    top:add(FIELDS.icrc.status, tvb:range(0, 0), UNVERIFIED):set_generated()
  elseif carried > before then
    top:add(FIELDS.icrc.status, tvb:range(0, 0), UNVERIFIED):set_generated()
    words[#words + 1] = "cut short"
  else
    local covered = total - ICRC_SIZE
    local at, ending = HEADERS + shift, covered + shift
    if rh.op == CONST.op_data then
      while at and at < ending do at = add_transaction(top, tvb, at, ending, words) end
    elseif rh.op == CONST.op_control and ending - at == CONST.control_bytes then
      add_row(top, tvb, at, ending, CONTROL_TYPES, CONST.control_layout, words)
    elseif ending ~= at then
      items.total_length:add_proto_expert_info(EXPERTS.length, (RH_OPS[rh.op] or "?") .. " with a body of " .. ending - at .. " B")
    end
    add_icrc(top, tvb, covered, shift)
    local used = carried
    if before >= used + 8 and tvb:range(used, 1):uint() == CONST.start then -- the raw carrier's preamble
      add_preamble(top, tvb, used, words)
      used = used + 8
    end
    if before > used then top:add(FIELDS.frame.pad, tvb:range(used, before - used)) end
  end
  add_fcs(top, tvb, state, before)
  columns(pinfo, "EthLink", words)
end

-- Whether bytes are a frame of the profile, told by its EtherType: 2 = a frame between two ports, 1 = any other, nil = neither.
local function kind_of(tvb)
  if tvb:len() < LAYOUTS.oefh.size then return nil end
  local ethertype = tvb:range(TAG_AT, 2):uint()
  if ethertype == CONST.tpid and tvb:len() >= LAYOUTS.oefh.size + LAYOUTS.vlan.size then
    ethertype = tvb:range(TAG_AT + LAYOUTS.vlan.size, 2):uint()
  end
  if ethertype == scalefab.prefs.control_ethertype and tostring(tvb:range(0, 6):bytes()):lower() == CONST.link_da
    and tvb:len() > LAYOUTS.oefh.size then
    return 2
  end
  return (ethertype == scalefab.prefs.data_ethertype or ethertype == scalefab.prefs.control_ethertype) and 1 or nil
end

local function dissect_any(tvb, pinfo, tree, mode)
  local kind = kind_of(tvb)
  if kind == 2 then dissect_link(tvb, pinfo, tree, mode) end
  if kind == 1 then dissect_frame(tvb, pinfo, tree, mode) end
  return kind ~= nil
end

-- Ethernet asks heuristics before it reads addresses, with the whole frame: OEFH fills their place.
scalefab:register_heuristic("eth", function(tvb, pinfo, tree) return dissect_any(tvb, pinfo, tree, scalefab.prefs.fcs) end)

function scalefab.dissector(tvb, pinfo, tree)
  dissect_any(tvb, pinfo, tree, scalefab.prefs.fcs)
  return tvb:len()
end

-- LINKTYPE_USER0: an ordered set, or preamble, frame and FCS.
function phy.dissector(tvb, pinfo, tree)
  local words = {}
  local first = tvb:len() > 0 and tvb:range(0, 1):uint() or nil
  if first == CONST.start and tvb:len() >= 8 then
    local top = tree:add(phy, tvb:range(0, 8))
    add_preamble(top, tvb, 0, words)
    if tvb:len() > 8 then
      local frame = tvb:range(8):tvb()
      if not dissect_any(frame, pinfo, tree, 1) then
        local done = pcall(function() Dissector.get("eth_withfcs"):call(frame, pinfo, tree) end)
        if not done then top:add_proto_expert_info(EXPERTS.length, "The frame behind the preamble ends early") end
      end
    else
      columns(pinfo, "EthLink", words)
    end
    return tvb:len()
  end
  local top = tree:add(phy, tvb:range(0, tvb:len()))
  if first == CONST.control_start then
    add_set(top, tvb, 0, tvb:len(), words)
  else
    top:add_proto_expert_info(EXPERTS.type, "Neither a preamble nor an ordered set")
  end
  columns(pinfo, "EthLink", words)
  return tvb:len()
end

function lldp.dissector(tvb, pinfo, tree)
  local top = tree:add(lldp, tvb:range(0, tvb:len()))
  local data = LAYOUTS.lldp_tlv
  if tvb:len() < data.size then
    top:add_proto_expert_info(EXPERTS.length, data.title .. " has " .. data.size .. " B, " .. tvb:len() .. " are there")
    return tvb:len()
  end
  local sub, values, items = add_layout(top, tvb, 0, "lldp_tlv")
  local used = add_elements(sub, tvb, data.size, tvb:len(), "lldp_tlv", values)
  if values.tlv_length + 2 ~= used then items.tlv_length:add_proto_expert_info(EXPERTS.length) end
  sub:set_len(used)
  return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, phy)
pcall(function() DissectorTable.get("lldp.orgtlv.oui"):add(CONST.lldp_oui, lldp) end) -- absent in old releases
