"""What EthLink is, without clock, socket, file or topology: layouts, codec, and the functions of each mechanism."""
